// Room in the context before the limit at which an earlier session was exhausted.
import { getNumber } from 'baton:policy/config@0.1.0';
import { pastSessions } from 'baton:policy/facts-history@0.1.0';
import { number } from '../settings.js';

// As many as the host tells of.
const PAST_SESSIONS = 16;

export const setting = number(
  'learned-percent',
  80,
  [1, 100],
  'Make room from this percentage of the tokens that exhausted an earlier session of the agent.',
);

export const compaction = {
  decide({ session }) {
    const used = session.occupancy.usedTokens;
    if (used === undefined) return;
    const peaks = pastSessions(PAST_SESSIONS)
      .filter(({ agent, endedBy }) => agent === session.agent && endedBy === 'exhausted')
      .map(({ peakTokens }) => peakTokens)
      .filter((peak) => peak > 0n);
    if (peaks.length === 0) return;
    const limit = peaks.reduce((least, peak) => (peak < least ? peak : least));
    if (Number(used) * 100 < Number(limit) * getNumber('learned-percent')) return;
    const action = session.capabilities.compacts ? { tag: 'compact', val: undefined } : { tag: 'hand-off' };
    return { action, reason: `${used} tokens are used, and an earlier session was exhausted at ${limit}` };
  },
};
