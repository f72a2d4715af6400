// What is split, and into what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

const FIVE = ['Write src/lexer.rs.', 'Describe `docs/lexer.md`.', 'Write src/parser.rs.', 'Name it and/or not.', 'Write docs/a.md'];

function parts(descriptions, more = {}) {
  host(policy);
  const objectives = descriptions.map((description, n) => ({ id: `o${n + 1}`, description, status: 'open', expectedFiles: [] }));
  const seen = { occasion: { tag: 'phase-start' }, phase: { depth: 0 }, limits: { parts: 26, depth: 2 }, wish: 'during' };
  const decision = policy.splitting.decide({ ...seen, objectives, ...more });
  return decision?.action.val.map(({ title, objectives }) => [title, ...objectives]);
}

test('one part per folder', () => {
  assert.deepEqual(parts(FIVE), [['src', 'o1', 'o3'], ['docs', 'o2', 'o5'], ['other files', 'o4']]);
});

test('it abstains from what is small, in one folder or not allowed', () => {
  assert.equal(parts(FIVE.slice(0, 4)), undefined);
  assert.equal(parts(Array(9).fill('Write src/a.rs')), undefined);
  const limits = [{ parts: 2, depth: 2 }, { parts: 26, depth: 0 }];
  for (const more of [{ limits: limits[0] }, { limits: limits[1] }, { wish: 'never' }, { occasion: { tag: 'boundary' } }]) {
    assert.equal(parts(FIVE, more), undefined);
  }
});
