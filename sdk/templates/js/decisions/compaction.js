// Whether to make room in the context between two prompts.
import { getNumber } from 'baton:policy/config@0.1.0';
import { number } from '../settings.js';

export const settings = [
  number('compact-percent', 70, [1, 99], 'Compact from this occupancy, in percent of the window.'),
];

export const compaction = {
  decide(o) {
    // Tokens are of WIT's type u64, which is a BigInt here; what is unknown is undefined.
    const { usedTokens, windowTokens } = o.session.occupancy;
    if (usedTokens === undefined || !windowTokens) return keep('nobody knows how full the window is');
    const percent = (Number(usedTokens) * 100) / Number(windowTokens);
    const threshold = getNumber('compact-percent');
    if (percent < threshold) return keep(`${Math.floor(percent)} % of the window are used`);
    const reason = `${Math.floor(percent)} % of the window are used, and ${Math.floor(threshold)} % are allowed`;
    return { action: { tag: 'compact', val: undefined }, reason };
  },
};

const keep = (reason) => ({ action: { tag: 'keep' }, reason });
