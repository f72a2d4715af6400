// What the next message to an agent says.
import { getText } from 'baton:policy/config@0.1.0';
import { text } from '../settings.js';
import { line, listed, objective, section } from '../words.js';

export const settings = [text('rules', '', 'What every prompt says at its end.')];

export const prompting = {
  compose(o) {
    const inFocus = o.objectives.filter((objective) => o.focus.includes(objective.id));
    const lines = [`Goal of the whole run: ${line(o.goal)}`, ''];
    if (o.because) lines.push(`Why you are asked: ${line(o.because)}`, '');
    if (o.newestHandoff) lines.push(`Read ${line(o.newestHandoff.path)} first.`, '');
    lines.push('Do this:', ...listed(inFocus.map(objective)));
    const sections = [section('task', undefined, lines)];
    const rules = getText('rules');
    if (rules) sections.push(section('rules', undefined, ['', rules], 1));
    return { sections, leftOut: [], reason: `${inFocus.length} objectives are in focus` };
  },
};
