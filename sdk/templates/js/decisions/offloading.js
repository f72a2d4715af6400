// Which large items need not lie in the context.
import { getInteger } from 'baton:policy/config@0.1.0';
import { integer } from '../settings.js';

export const settings = [
  integer('offload-tokens', 20_000, [1, 10_000_000], 'An item of more tokens than this becomes a reference.'),
];

export const offloading = {
  decide(o) {
    const most = getInteger('offload-tokens');
    const items = o.items.filter(({ tokens }) => tokens > most).map(({ id }) => id);
    return { items, reason: `${items.length} of ${o.items.length} items have more than ${most} tokens` };
  },
};
