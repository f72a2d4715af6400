// The section, and where it stands.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function compose(next, ...rules) {
  host(policy, { next, given: [['house-rules', { tag: 'texts', val: rules }]] });
  return policy.prompting.compose({});
}

const section = (id, heading, val) => ({ id, heading, blocks: [{ tag: 'markdown', val }], rank: 0 });
const opening = section('opening', undefined, 'Write it.\n');
const reporting = section('reporting', 'Reporting', 'To inbox.\n');
const houseRules = (val) => section('house-rules', 'House rules', val);
const written = (...sections) => ({ sections, leftOut: ['commits'], reason: 'one objective' });

test('the rules stand before the last section, or at the end', () => {
  const composed = compose(written(opening, reporting), 'No TODO comments.', 'Tests first.');
  assert.deepEqual(composed, written(opening, houseRules('No TODO comments.\nTests first.'), reporting));
  assert.deepEqual(compose(written(opening), 'Tests first.'), written(opening, houseRules('Tests first.')));
});

test('it abstains without rules and without a next policy', () => {
  assert.equal(compose(written(opening)), undefined);
  assert.equal(compose(undefined, 'Tests first.'), undefined);
});
