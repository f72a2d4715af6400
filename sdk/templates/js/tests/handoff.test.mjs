// What prompts and handoffs say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

const seen = {
  goal: 'A parser for the little language.',
  because: '',
  handoffPath: '',
  now: '2026-03-01T12:00:00Z',
  phase: { title: 'Build\nthe parser' },
  objectives: [
    { id: 'lexer', description: 'Write src/lexer.rs', status: 'done' },
    { id: 'parser', description: 'Write src/parser.rs', status: 'open' },
  ],
  focus: ['parser'],
  changedFiles: [],
};

test('a first prompt names what is in focus', () => {
  host(policy);
  const { prompt } = policy.handoff.brief(seen);
  assert.ok(prompt.includes('- parser: Write src/parser.rs') && !prompt.includes('lexer'), prompt);
});

function review(document, changes = {}) {
  host(policy, { texts: [document] });
  const asked = { document: 0, secrets: [], missingFiles: [], openObjectives: ['parser'], commitsSince: 0 };
  return policy.handoff.review({ ...asked, ...changes });
}

test('a document is accepted by its own review', () => {
  host(policy);
  const { document } = policy.handoff.compose(seen);
  assert.ok(document.startsWith('# Handoff of Build the parser\n'), document);
  assert.equal(review(document).score, 100);
});

test('a secret is never accepted, and an objective that is left out costs', () => {
  assert.equal(review('# parser', { secrets: ['an API key'] }).accepted, false);
  assert.equal(review('# nothing').score, 80);
});
