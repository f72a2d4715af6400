// When room is made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function decide(usedTokens, given) {
  host(policy, { given });
  return policy.compaction.decide({ session: { occupancy: { usedTokens, windowTokens: 200_000n } } });
}

test('a half-empty window is kept, a full one is compacted', () => {
  assert.equal(decide(100_000n).action.tag, 'keep');
  assert.deepEqual(decide(150_000n), {
    action: { tag: 'compact', val: undefined },
    reason: '75 % of the window are used, and 70 % are allowed',
  });
});

test('the threshold is a setting', () => {
  assert.equal(decide(100_000n, [['compact-percent', { tag: 'number', val: 40 }]]).action.tag, 'compact');
});

test('an unknown occupancy is kept', () => {
  assert.equal(decide(undefined).action.tag, 'keep');
});
