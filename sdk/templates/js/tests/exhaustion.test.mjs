// How sessions are judged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function assess(channel, words, occasion, answerBytes = 0n) {
  host(policy, { texts: [words] });
  const signals = [{ channel, seq: 40n, text: { start: 0, end: words.length } }];
  return policy.exhaustion.assess({ occasion: { tag: occasion }, signals, window: 0, answerBytes, filesChanged: 0 });
}

test('a context that is used up is told by the words', () => {
  const said = assess('provider-error', '400: Prompt is too long', 'prompt-ended');
  assert.equal(said.verdict.tag, 'exhausted');
  assert.deepEqual(said.evidence, [{ channel: 'provider-error', seq: 40n, text: '400: Prompt is too long' }]);
});

test('what a tool printed is no evidence', () => {
  assert.equal(assess('tool-output', 'context window', 'prompt-ended', 9n).verdict.tag, 'answered');
});

test('nobody who works is given up', () => {
  assert.equal(assess('agent-text', 'the context window is small', 'turn').verdict.tag, 'healthy');
});

test('what ended without an answer has failed', () => {
  assert.equal(assess('agent-text', 'It is done.', 'prompt-ended', 9n).verdict.tag, 'answered');
  assert.equal(assess('agent-text', '', 'prompt-ended').verdict.tag, 'failed');
});
