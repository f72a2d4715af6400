// Settings: short builders for a schema, and the whole validation of given values against it.

export const flag = (key, value, doc) => setting(key, { tag: 'flag', val: value }, doc);

export const integer = (key, value, [minimum, maximum], doc) => ({
  ...setting(key, { tag: 'integer', val: BigInt(value) }, doc),
  minimum,
  maximum,
});

export const number = (key, value, [minimum, maximum], doc) => ({
  ...setting(key, { tag: 'number', val: value }, doc),
  minimum,
  maximum,
});

export const text = (key, value, doc) => setting(key, { tag: 'text', val: value }, doc);

export const choice = (key, value, choices, doc) => ({ ...text(key, value, doc), choices });

export const texts = (key, values, doc) => setting(key, { tag: 'texts', val: values }, doc);

function setting(key, value, doc) {
  return { key, doc, default: value, minimum: undefined, maximum: undefined, choices: [] };
}

// The interface `settings` for this schema.
export function answer(schema) {
  return {
    schema: () => schema,
    // Every key of the schema once, in its order, defaults filled in. What is thrown is the error of the contract:
    // every problem, by key.
    validate(given) {
      const values = new Map();
      const problems = [];
      for (const [key, value] of given) {
        const known = schema.find((setting) => setting.key === key);
        const message = values.has(key) ? 'is given twice' : known ? wrong(known, value) : unknown(schema, key);
        if (message) problems.push({ key, message });
        else values.set(key, canonical(known, value));
      }
      if (problems.length > 0) throw problems;
      return schema.map((setting) => [setting.key, values.get(setting.key) ?? setting.default]);
    },
  };
}

const KINDS = {
  flag: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  text: 'a text',
  texts: 'a list of texts',
};

function unknown(schema, key) {
  return `there is no such setting; there are ${schema.map((setting) => setting.key).join(', ')}`;
}

// A whole number is fine where a number is asked for.
function canonical(setting, value) {
  const widens = setting.default.tag === 'number' && value.tag === 'integer';
  return widens ? { tag: 'number', val: Number(value.val) } : value;
}

function wrong(setting, given) {
  const value = canonical(setting, given);
  if (value.tag !== setting.default.tag) return `must be ${KINDS[setting.default.tag]}, not ${KINDS[value.tag]}`;
  if (value.tag === 'integer' || value.tag === 'number') {
    const size = Number(value.val);
    if (!Number.isFinite(size)) return 'must be a finite number';
    if (setting.minimum !== undefined && size < setting.minimum) return `must be at least ${setting.minimum}, not ${size}`;
    if (setting.maximum !== undefined && size > setting.maximum) return `must be at most ${setting.maximum}, not ${size}`;
  }
  if (value.tag === 'text' && setting.choices.length > 0 && !setting.choices.includes(value.val)) {
    return `must be one of ${setting.choices.join(', ')}, not ${JSON.stringify(value.val)}`;
  }
  return undefined;
}
