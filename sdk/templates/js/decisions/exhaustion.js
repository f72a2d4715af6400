// How a session is, or why it stopped.
import { findSetting, slice } from 'baton:policy/text@0.1.0';
import { texts } from '../settings.js';

export const settings = [
  texts(
    'exhausted-phrases',
    ['prompt is too long', 'context window', 'context length'],
    'What an agent or its provider says when the context is used up, in any case.',
  ),
];

// Characters of a signal that are quoted as evidence.
const QUOTED_CHARS = 50;

export const exhaustion = {
  assess(o) {
    const hasEnded = o.occasion.tag === 'prompt-ended' || o.occasion.tag === 'session-ended';
    // While it works it may still recover; only what has ended is judged.
    if (!hasEnded) return assessment('healthy', [], 'it works');
    // What a tool printed is no evidence: an agent may read a file about context windows.
    for (const signal of o.signals.filter((signal) => signal.channel !== 'tool-output')) {
      if (findSetting(o.window, signal.text, 'exhausted-phrases', 1).length > 0) {
        const text = [...slice(o.window, signal.text)].slice(0, QUOTED_CHARS).join('');
        return assessment('exhausted', [{ channel: signal.channel, seq: signal.seq, text }], 'its context is used up');
      }
    }
    if (o.answerBytes > 0n || o.filesChanged > 0) return assessment('answered', [], 'it answered');
    return assessment('failed', [], 'it ended without an answer');
  },
};

function assessment(verdict, evidence, reason) {
  return { verdict: { tag: verdict }, evidence, warning: undefined, reason };
}
