// What the next prompt says, and what a session leaves to the one after it.
import { getText } from 'baton:policy/config@0.1.0';
import { slice } from 'baton:policy/text@0.1.0';
import { text } from '../settings.js';

export const settings = [text('rules', '', 'What every prompt says at its end.')];

// Whatever is asked, an answer has an end: characters of a line of somebody's words, and lines of a list.
const LINE_CHARS = 120;
const LINES = 60;
// A document has at most 32 KiB.
const DOCUMENT_BYTES = 64 << 10;

export const handoff = {
  brief(o) {
    const inFocus = o.objectives.filter((objective) => o.focus.includes(objective.id));
    const lines = [`Goal of the whole run: ${line(o.goal)}`, ''];
    if (o.because) lines.push(`Why you are asked: ${line(o.because)}`, '');
    if (o.handoffPath) lines.push(`Read ${line(o.handoffPath)} first.`, '');
    lines.push('Do this:', ...listed(inFocus.map(objective)), '', getText('rules'));
    return { prompt: lines.join('\n').trimEnd() + '\n', leftOut: [], reason: `${inFocus.length} objectives are in focus` };
  },

  compose(o) {
    const open = o.objectives.filter((objective) => objective.status !== 'done');
    const done = o.objectives.filter((objective) => objective.status === 'done');
    const document = [
      `# Handoff of ${line(o.phase.title)}`,
      '## Done',
      ...listed(done.map(objective)),
      '## Immediate next action',
      ...listed(open.map(objective)),
      '## Changed files',
      ...listed(o.changedFiles.map((file) => `- \`${line(file.path)}\``)),
    ];
    return {
      document: document.join('\n') + '\n',
      index: `- ${o.now}: ${line(o.phase.title)}\n`,
      continuer: 'successor',
      leftOut: [],
      reason: 'objectives and files, as the host knows them',
    };
  },

  review(o) {
    const findings = [];
    // What is over costs nothing more: a document with so many findings has no points left.
    const find = (cost, text) => findings.length < LINES && findings.push({ cost, line: 0, text });
    const document = slice(o.document, { start: 0, end: DOCUMENT_BYTES });
    for (const secret of o.secrets) find(100, `it contains a secret: ${line(secret)}`);
    for (const path of o.missingFiles) find(10, `it names ${line(path)}, which is not there`);
    for (const id of o.openObjectives) {
      if (!document.includes(id)) find(20, `it does not name the open objective ${line(id)}`);
    }
    const score = 100 - Math.min(100, findings.reduce((sum, finding) => sum + finding.cost, 0));
    return {
      score,
      findings,
      staleness: o.commitsSince === 0 ? 'fresh' : 'slightly-stale',
      accepted: score >= 70,
      reason: `${score} of 100`,
    };
  },
};

const objective = ({ id, description }) => `- ${line(id)}: ${line(description)}`;

const listed = (lines) =>
  lines.length <= LINES ? lines : [...lines.slice(0, LINES), `- and ${lines.length - LINES} more`];

// Words of others, on one line: they cannot pass for a heading or for another item.
const line = (words) => words.slice(0, LINE_CHARS).toWellFormed().replace(/\s+/g, ' ').trim();
