// Whether the agent itself says that its context is used up.
import { findSetting, slice } from 'baton:policy/text@0.1.0';
import { texts } from '../settings.js';

export const setting = texts(
  'own-words',
  [
    'my context is full',
    'my context window is full',
    'my context is used up',
    'i have run out of context',
    'i am out of context',
    'kontext voll',
  ],
  'What an agent says of itself when its context is used up; ASCII letters match in either case.',
);

export const exhaustion = {
  assess(o) {
    if (o.occasion.tag !== 'prompt-ended' && o.occasion.tag !== 'session-ended') return;
    const last = o.signals.findLast(({ channel, prompt }) => channel === 'agent-text' && prompt === o.session.prompts);
    const [hit] = last ? findSetting(o.window, last.text, 'own-words', 1) : [];
    if (!hit) return;
    return {
      verdict: { tag: 'exhausted' },
      evidence: [{ channel: last.channel, seq: last.seq, text: slice(o.window, hit.at) }],
      warning: undefined,
      reason: 'the agent says that its context is used up',
    };
  },
};
