// Whether a scope is too large, and where its seams are.
import { getInteger } from 'baton:policy/config@0.1.0';
import { integer } from '../settings.js';

export const settings = [
  integer('objectives-at-most', 4, [1, 100], 'Split a phase that has more open objectives than this.'),
];

// Characters of a part's title.
const TITLE_CHARS = 60;

export const splitting = {
  decide(o) {
    const open = o.objectives.filter((objective) => objective.status !== 'done').map((objective) => objective.id);
    const most = Number(getInteger('objectives-at-most'));
    // What is a part already stays whole: the host bounds how deep splits go, and so does this policy.
    if (open.length <= most || o.phase.depth > 0 || o.limits.depth === 0) {
      return { action: { tag: 'keep' }, reason: `${open.length} open objectives are few enough` };
    }
    // The workflow's word holds, unless the agent itself asks for a split: the host refuses another answer.
    if (o.wish === 'never' && o.occasion.tag !== 'requested') {
      return { action: { tag: 'keep' }, reason: 'the workflow leaves it whole' };
    }
    const parts = divided(open, most, Math.max(o.limits.parts, 2));
    const reason = `${open.length} open objectives are more than ${most}: ${parts.length} parts`;
    return { action: { tag: 'split', val: parts }, reason };
  },
};

// Parts of equal size, in the order of the file; every open objective is in exactly one.
function divided(open, most, allowed) {
  const size = Math.max(Math.ceil(open.length / allowed), Math.min(most, Math.ceil(open.length / 2)));
  const parts = [];
  for (let from = 0; from < open.length; from += size) {
    const objectives = open.slice(from, from + size);
    const title = [...objectives.join(', ').slice(0, TITLE_CHARS * 2)].slice(0, TITLE_CHARS).join('').toWellFormed();
    parts.push({ title, objectives, order: 'direct', maxTurns: undefined });
  }
  return parts;
}
