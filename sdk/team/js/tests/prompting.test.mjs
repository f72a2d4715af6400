// The section, and where it stands.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function compose(next, ...rules) {
  host(policy, { next, given: [['house-rules', { tag: 'texts', val: rules }]] });
  return policy.prompting.compose({});
}

const written = (prompt) => ({ prompt, leftOut: ['commits'], reason: 'one objective' });

test('the rules stand before the last section, or at the end', () => {
  const composed = compose(written('Write it.\n\n## Reporting\nTo inbox.\n'), 'No TODO comments.', 'Tests first.');
  const prompt = 'Write it.\n\n## House rules\nNo TODO comments.\nTests first.\n\n## Reporting\nTo inbox.\n';
  assert.deepEqual(composed, written(prompt));
  assert.equal(compose(written('Write it.\n'), 'Tests first.').prompt, 'Write it.\n\n## House rules\nTests first.\n');
});

test('it abstains without rules, without a next policy and without room', () => {
  assert.equal(compose(written('Write it.')), undefined);
  assert.equal(compose(undefined, 'Tests first.'), undefined);
  assert.equal(compose(written('x'.repeat(32_760)), 'Tests first.'), undefined);
});
