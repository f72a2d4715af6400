// Settings: short builders for a schema.

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

// The interface `settings` for this schema. The host holds what is given to it.
export function answer(schema) {
  return { schema: () => schema };
}
