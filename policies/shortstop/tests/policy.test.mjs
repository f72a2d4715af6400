// When it stops short, natively; golden/ holds whole decisions of the component.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { host } from './host.mjs';
import * as policy from '../policy.js';

function decide(used, grown, changes = {}) {
  host(policy);
  const { compacts = true, doneBySession = 1, refilledWithinTurns } = changes;
  const turns = grown === undefined ? [] : [0n, grown].map((tokens) => ({ prompt: 2, usedTokens: 10_000n + tokens }));
  return policy.compaction.decide({
    session: { occupancy: { usedTokens: used, windowTokens: 200_000n }, recent: turns, capabilities: { compacts } },
    phase: { progress: { done: 1, open: 1, failed: 0, doneBySession } },
    refilledWithinTurns,
  }).action.tag;
}

test('small steps go on, large ones stop early', () => {
  assert.equal(decide(170_000n, 10_000n), 'keep');
  assert.equal(decide(170_001n, 10_000n), 'compact');
  assert.equal(decide(100_000n, 90_000n), 'compact');
  assert.equal(decide(79_000n, 190_000n), 'keep');
});

test('a growth that nobody knows is a guess', () => {
  assert.equal(decide(140_000n), 'keep');
  assert.equal(decide(141_000n), 'compact');
});

test('where compacting does not help, it hands off what is done', () => {
  assert.equal(decide(180_000n, 30_000n, { compacts: false }), 'hand-off');
  assert.equal(decide(180_000n, 30_000n, { refilledWithinTurns: 3 }), 'hand-off');
  assert.equal(decide(180_000n, 30_000n, { compacts: false, doneBySession: 0 }), 'keep');
  assert.equal(decide(180_000n, 30_000n, { refilledWithinTurns: 3, doneBySession: 0 }), 'compact');
});

test('a compaction in between is no growth', () => {
  host(policy);
  assert.equal(decide(170_000n, -5_000n), 'keep');
});
