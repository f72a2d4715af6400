// What is done.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function decide(status, reportNeeded = false) {
  host(policy, { given: [['report-needed', { tag: 'flag', val: reportNeeded }]] });
  const reported = status && { status, note: '', bySession: true };
  return policy.completion.decide({ session: { objectives: [{ id: 'parser', reported }] } }).done;
}

test('what was answered is done, but for what is reported as failed', () => {
  assert.deepEqual(decide(), ['parser']);
  assert.deepEqual(decide('failed'), []);
});

test('a report may be needed', () => {
  assert.deepEqual(decide(undefined, true), []);
  assert.deepEqual(decide('done', true), ['parser']);
});
