// When the agent says that its context is used up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as policy from '../policy.js';
import { host } from './host.mjs';

function assess(channel, words, occasion = 'prompt-ended', prompt = 2) {
  host(policy, { texts: [words] });
  const signals = [{ channel, seq: 40n, prompt, text: { start: 0, end: words.length } }];
  return policy.exhaustion.assess({ occasion: { tag: occasion }, session: { prompts: 2 }, signals, window: 0 });
}

test('its own words count at the end of a prompt or session', () => {
  const said = assess('agent-text', 'It is done, but my context is full.');
  assert.equal(said.verdict.tag, 'exhausted');
  assert.deepEqual(said.evidence, [{ channel: 'agent-text', seq: 40n, text: 'my context is full' }]);
  assert.ok(assess('agent-text', 'Kontext voll.', 'session-ended'));
});

test('the words of others, of another time and about something else do not', () => {
  assert.equal(assess('tool-output', 'My context is full.'), undefined);
  assert.equal(assess('agent-text', 'My context is full.', 'turn'), undefined);
  assert.equal(assess('agent-text', 'My context is full.', 'prompt-ended', 1), undefined);
  assert.equal(assess('agent-text', 'The context window is small.'), undefined);
});
