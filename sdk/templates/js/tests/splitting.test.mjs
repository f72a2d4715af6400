// What is split, and into what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function decide(count, limits = { parts: 26, depth: 2 }, wish = 'during') {
  host(policy);
  const objectives = Array.from({ length: count }, (_, n) => ({ id: `o${n + 1}`, status: 'open' }));
  return policy.splitting.decide({ occasion: { tag: 'boundary' }, objectives, phase: { depth: 0 }, limits, wish });
}

test('a small phase is kept', () => assert.equal(decide(4).action.tag, 'keep'));

test('every open objective is in exactly one part, and there are as many parts as may be', () => {
  for (let count = 5; count < 60; count += 1) {
    for (const allowed of [2, 3, 8]) {
      const parts = decide(count, { parts: allowed, depth: 2 }).action.val;
      assert.ok(parts.length >= 2 && parts.length <= allowed, `${count} objectives, ${parts.length} parts`);
      const given = parts.flatMap((part) => part.objectives);
      assert.deepEqual(given, Array.from({ length: count }, (_, n) => `o${n + 1}`));
    }
  }
});

test('what the workflow does not allow is kept', () => {
  assert.equal(decide(9, { parts: 26, depth: 0 }).action.tag, 'keep');
  assert.equal(decide(9, { parts: 26, depth: 2 }, 'never').action.tag, 'keep');
});
