// The prompts of the next policy, each with the rules of the house.
import { getTexts } from 'baton:policy/config@0.1.0';
import { compose as next } from 'baton:policy/prompting@0.1.0';
import { texts } from '../settings.js';

// Bytes of a prompt.
const PROMPT_BYTES = 32 << 10;
// The section of the built-in policy that has to come last: it says how to report.
const LAST_SECTION = '\n## Reporting\n';

export const setting = texts(
  'house-rules',
  [],
  'The lines of the section that every prompt gets; without any, there is none.',
);

export const prompting = {
  compose(o) {
    const rules = getTexts('house-rules');
    if (rules.length === 0) return;
    const written = next(o);
    if (!written) return;
    const at = written.prompt.lastIndexOf(LAST_SECTION);
    const [head, tail] = at < 0 ? [written.prompt, ''] : [written.prompt.slice(0, at), written.prompt.slice(at)];
    const prompt = `${head}\n## House rules\n${rules.join('\n')}\n${tail}`;
    // Without room for them, the next policy's prompt goes out as it is.
    return new TextEncoder().encode(prompt).length > PROMPT_BYTES ? undefined : { ...written, prompt };
  },
};
