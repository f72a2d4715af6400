// How many turns a scope may take.
import { getInteger } from 'baton:policy/config@0.1.0';
import { integer } from '../settings.js';

export const settings = [
  integer('extra-turns-percent', 0, [0, 900], 'Turns beyond those of the table, in percent of them.'),
];

export const budgeting = {
  decide(o) {
    const percent = 100 + Number(getInteger('extra-turns-percent'));
    const maxTurns = Math.min(Math.ceil((o.baseTurns * percent) / 100), 0xffffffff);
    return { maxTurns, reason: `${percent} % of the table's value` };
  },
};
