// A host in memory: settings, texts by handle, past sessions, the next policy. Offsets are bytes, as in the contract.
const encoder = new TextEncoder();
const decoder = new TextDecoder();
let settings = new Map();
let bodies = [];
let history = [];
let answers;

// A fresh host with the settings of a policy, where nothing else is given, these texts and past sessions, and what the
// next policy answers.
export function host(policy, { given = [], texts = [], past = [], next } = {}) {
  settings = new Map((policy.settings?.schema() ?? []).map(({ key, default: value }) => [key, value]));
  for (const [key, value] of given) {
    setting(key, value.tag);
    settings.set(key, value);
  }
  bodies = texts;
  history = past;
  answers = next;
}

function setting(key, tag) {
  const value = settings.get(key);
  if (value?.tag !== tag) throw new Error(`the schema has no setting ${key} of type ${tag}`);
  return value.val;
}

export const getFlag = (key) => setting(key, 'flag');
export const getInteger = (key) => setting(key, 'integer');
export const getNumber = (key) => setting(key, 'number');
export const getText = (key) => setting(key, 'text');
export const getTexts = (key) => setting(key, 'texts');

export const pastSessions = (limit) => history.slice(0, limit);

export const compose = () => answers;

export const len = (id) => encoder.encode(bodies[id] ?? '').length;

export const slice = (id, { start, end }) => decoder.decode(encoder.encode(bodies[id] ?? '').slice(start, end));

// The first occurrences of any pattern, leftmost first and the longest at one place; ASCII letters in either case.
export function findAny(id, range, patterns, limit) {
  const lower = (text) => decoder.decode(encoder.encode(text)).replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const text = lower(slice(id, range));
  const hits = [];
  for (let at = 0; at < text.length && hits.length < limit; ) {
    const here = patterns
      .map((pattern, index) => ({ pattern: index, body: lower(pattern) }))
      .filter(({ body }) => body && text.startsWith(body, at))
      .sort((one, other) => other.body.length - one.body.length)[0];
    if (here) {
      const start = range.start + encoder.encode(text.slice(0, at)).length;
      hits.push({ pattern: here.pattern, at: { start, end: start + encoder.encode(here.body).length } });
    }
    at += here?.body.length ?? 1;
  }
  return hits;
}

export const findSetting = (id, range, key, limit) => findAny(id, range, getTexts(key), limit);
