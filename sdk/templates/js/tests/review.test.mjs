// Which handoffs are accepted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function assess(document, changes = {}) {
  host(policy, { texts: [document] });
  const asked = { document: 0, secrets: [], missingFiles: [], openObjectives: ['parser'], commitsSince: 0 };
  return policy.review.assess({ ...asked, ...changes });
}

test('a document that names what is open is accepted', () => {
  assert.equal(assess('- parser: half of it').score, 100);
  assert.equal(assess('# nothing').score, 80);
});

test('a secret is never accepted', () => {
  assert.equal(assess('# parser', { secrets: ['an API key'] }).accepted, false);
});
