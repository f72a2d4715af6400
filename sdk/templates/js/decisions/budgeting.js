// How many turns a scope may take.
import { getInteger } from 'baton:policy/config@0.1.0';
import { integer } from '../settings.js';

export const settings = [
  integer('extra-turns-percent', 0, [0, 900], 'Turns beyond those of the table, in percent of them.'),
];

export const budgeting = {
  decide(o) {
    const percent = 100 + Number(getInteger('extra-turns-percent'));
    // A table without a cap, and an answer without one, are undefined.
    if (o.baseTurns === undefined) return { maxTurns: undefined, reason: 'the table sets no cap' };
    const maxTurns = Math.min(Math.ceil((o.baseTurns * percent) / 100), 0xffffffff);
    return { maxTurns, reason: `${percent} % of the table's value` };
  },
};
