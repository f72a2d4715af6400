// How many turns a scope gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

test('more turns are a setting', () => {
  host(policy);
  assert.equal(policy.budgeting.decide({ baseTurns: 25 }).maxTurns, 25);
  host(policy, { given: [['extra-turns-percent', { tag: 'integer', val: 20n }]] });
  assert.equal(policy.budgeting.decide({ baseTurns: 25 }).maxTurns, 30);
});
