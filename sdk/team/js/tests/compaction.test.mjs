// When room is made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

const ended = (endedBy, peakTokens, agent = 'claude') => ({ agent, endedBy, peakTokens });

function decide(usedTokens, past, { compacts = true, given } = {}) {
  host(policy, { past, given });
  return policy.compaction.decide({ session: { agent: 'claude', capabilities: { compacts }, occupancy: { usedTokens } } });
}

test('room is made below the smallest limit that was learned', () => {
  const past = [ended('exhausted', 150_000n), ended('failed', 40_000n), ended('exhausted', 120_000n)];
  assert.equal(decide(95_999n, past), undefined);
  assert.deepEqual(decide(96_000n, past), {
    action: { tag: 'compact', val: undefined },
    reason: '96000 tokens are used, and an earlier session was exhausted at 120000',
  });
  assert.equal(decide(96_000n, past, { compacts: false }).action.tag, 'hand-off');
  assert.ok(decide(60_000n, past, { given: [['learned-percent', { tag: 'number', val: 50 }]] }));
});

test('without such a session it abstains', () => {
  for (const past of [[], [ended('exhausted', undefined)], [ended('exhausted', 100_000n, 'codex')], [ended(undefined, 9n)]]) {
    assert.equal(decide(190_000n, past), undefined);
  }
});
