// What is done about a session that is not well.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function decide(verdict, nudges = 0) {
  host(policy);
  const session = { exit: undefined, capabilities: { interrupts: true } };
  const assessment = { verdict: { tag: verdict } };
  return policy.recovery.decide({ session: { session, nudges }, assessment }).action.tag;
}

test('a session is asked once for what is missing', () => {
  assert.equal(decide('answered'), 'nudge');
  assert.equal(decide('answered', 1), 'retry');
});

test('a silent one is interrupted', () => assert.equal(decide('stalled'), 'interrupt'));

test('a new session continues one that is used up and replaces one that failed', () => {
  assert.equal(decide('exhausted'), 'hand-off');
  assert.equal(decide('failed'), 'retry');
  assert.equal(decide('quota'), 'wait');
});
