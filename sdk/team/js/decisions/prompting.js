// The prompts of the next policy, each with the rules of the house.
import { getTexts } from 'baton:policy/config@0.1.0';
import { compose as next } from 'baton:policy/prompting@0.1.0';
import { texts } from '../settings.js';

// The section of the built-in policy that has to come last: it says how to report.
const LAST_SECTION = 'reporting';

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
    const at = written.sections.findIndex(({ id }) => id === LAST_SECTION);
    const blocks = [{ tag: 'markdown', val: rules.join('\n') }];
    const section = { id: 'house-rules', heading: 'House rules', blocks, rank: 0 };
    return { ...written, sections: written.sections.toSpliced(at < 0 ? written.sections.length : at, 0, section) };
  },
};
