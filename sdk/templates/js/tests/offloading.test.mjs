// What becomes a reference.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function decide(tokens, given) {
  host(policy, { given });
  return policy.offloading.decide({ items: [{ id: 'result-1', kind: 'tool-result', tokens }] }).items;
}

test('what is large becomes a reference', () => {
  assert.deepEqual(decide(20_000n), []);
  assert.deepEqual(decide(20_001n), ['result-1']);
});

test('what is large is a setting', () => {
  assert.deepEqual(decide(9_000n, [['offload-tokens', { tag: 'integer', val: 5_000n }]]), ['result-1']);
});
