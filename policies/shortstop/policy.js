// Stops short of the limit: makes room before the prompt that would not fit. Decides `compaction` alone, in JavaScript.
//
// A threshold in percent ("compact at 70 %") is a guess about what the next prompt takes. This one looks: the most that a
// prompt of this session has grown its context by is what the next one may take, too. So a session of small steps goes on
// up to the reserve, and one that reads whole files stops at half. It is in no source; it answers the question that the
// first three answer with a number of their own (70, 80, never).
//
// - Below `least-percent` nothing happens, and large items (C3, C4) are left to others.
// - Where the next prompt may not fit: compact, where the agent can. Where it cannot, or where the context was full again within
//   `refill-turns` of the last compaction, hand off, once something is done (C21).
// - Where nothing is known of the growth yet, `unknown-percent` of the window stand for it.
import { getInteger, getNumber } from 'baton:policy/config@0.1.0';
import { answer, integer, number } from './settings.js';

const percentOf = (bounds, key, value, doc) => number(key, value, bounds, doc);

export const settings = answer([
  percentOf([0, 90], 'reserve-percent', 10, 'Of the window, in percent, this stays free.'),
  percentOf([0, 99], 'least-percent', 40, 'Below this occupancy, in percent, no room is made.'),
  percentOf([0, 99], 'unknown-percent', 20, 'What the next prompt takes, in percent, while nothing is known of its like.'),
  integer('refill-turns', 3, [0, 32], 'Full again within so many turns of a compaction: hand off instead; 0 never.'),
]);

export const compaction = {
  decide(o) {
    const { usedTokens, windowTokens } = o.session.occupancy;
    if (usedTokens === undefined || !windowTokens) return keep('nobody knows how full the window is');
    const percent = (tokens) => (Number(tokens) * 100) / Number(windowTokens);
    const used = percent(usedTokens);
    const grown = growth(o.session.recent);
    const next = grown === undefined ? getNumber('unknown-percent') : percent(grown);
    const told = `${whole(used)} % are used, and the next prompt may take ${whole(next)} %`;
    const fits = used + next <= 100 - getNumber('reserve-percent');
    if (used < getNumber('least-percent') || fits) return keep(told);

    const refill = Number(getInteger('refill-turns'));
    const refilled = o.refilledWithinTurns !== undefined && o.refilledWithinTurns <= refill;
    if (o.session.capabilities.compacts && !refilled) {
      const { done, open, failed } = o.phase.progress;
      const instructions =
        `Keep what this session is for, every changed file by its path, decisions with their reasons, what failed, and ` +
        `the next step. ${done} of ${done + open + failed} objectives are done.`;
      return { action: { tag: 'compact', val: instructions }, reason: told };
    }
    if (o.phase.progress.doneBySession > 0) return { action: { tag: 'hand-off' }, reason: told };
    // Nothing is done that could be handed on; where it can, it compacts once more.
    return o.session.capabilities.compacts ? { action: { tag: 'compact', val: undefined }, reason: told } : keep(`${told}, but nothing is done`);
  },
};

const keep = (reason) => ({ action: { tag: 'keep' }, reason });

const whole = (percent) => Math.min(Math.floor(percent), 999);

// The most tokens that one prompt added, as far as the newest turns tell; a compaction in between counts for nothing.
function growth(turns) {
  let most;
  let sum = 0n;
  for (let n = 1; n < turns.length; n += 1) {
    const [before, after] = [turns[n - 1], turns[n]];
    if (after.prompt !== before.prompt) sum = 0n;
    if (before.usedTokens === undefined || after.usedTokens === undefined) continue;
    if (after.usedTokens > before.usedTokens) sum += after.usedTokens - before.usedTokens;
    if (most === undefined || sum > most) most = sum;
  }
  return most;
}
