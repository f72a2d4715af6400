// How sessions are judged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function assess(channel, words, occasion, answerBytes = 0n) {
  host(policy, { texts: [words] });
  const signals = [{ channel, seq: 40n, text: { start: 0, end: words.length } }];
  return policy.exhaustion.assess({ occasion, signals, window: 0, answerBytes, filesChanged: 0 });
}

test('a context that is used up is told by the words', () => {
  const said = assess('provider-error', '400: Prompt is too long', 'prompt-ended');
  assert.equal(said.verdict.tag, 'exhausted');
  assert.deepEqual(said.evidence, [{ channel: 'provider-error', seq: 40n, text: '400: Prompt is too long' }]);
});

test('what a tool printed is no evidence', () => {
  assert.equal(assess('tool-output', 'context window', 'prompt-ended', 9n).verdict.tag, 'completed');
});

test('nobody who works is given up', () => {
  assert.equal(assess('agent-text', 'the context window is small', 'turn').verdict.tag, 'healthy');
});

test('only what failed needs a recovery', () => {
  assert.equal(assess('agent-text', 'It is done.', 'prompt-ended', 9n).recovery.tag, 'wait');
  const failed = assess('agent-text', '', 'prompt-ended');
  assert.deepEqual([failed.verdict.tag, failed.recovery.tag], ['failed', 'new-session']);
});
