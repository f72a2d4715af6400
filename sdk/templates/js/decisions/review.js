// Whether a handoff is fit to start a successor.
import { getInteger } from 'baton:policy/config@0.1.0';
import { slice } from 'baton:policy/text@0.1.0';
import { integer } from '../settings.js';
import { LINES, line } from '../words.js';

export const settings = [integer('accept-score', 70, [0, 100], 'Points, of 100, that a handoff needs.')];

// A document has at most 32 KiB.
const DOCUMENT_BYTES = 64 << 10;

export const review = {
  assess(o) {
    const findings = [];
    // What is over costs nothing more: a document with so many findings has no points left.
    const find = (cost, text) => findings.length < LINES && findings.push({ cost, text });
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
      accepted: o.secrets.length === 0 && score >= Number(getInteger('accept-score')),
      reason: `${score} of 100`,
    };
  },
};
