// What to do about a session that is not well, or whose objectives are not done.
import { getInteger } from 'baton:policy/config@0.1.0';
import { integer } from '../settings.js';

export const settings = [
  integer('nudges-at-most', 1, [0, 10], 'So often a session is prompted again before a new one takes over.'),
];

const CONTINUED = ['exhausted', 'handed-off', 'turn-limit', 'budget-limit'];

export const recovery = {
  decide(o) {
    const { session, nudges } = o.session;
    const mayNudge = session.exit === undefined && nudges < Number(getInteger('nudges-at-most'));
    const verdict = o.assessment.verdict.tag;
    if (verdict === 'quota') return decision('wait', "a provider's limit is waited for");
    if (CONTINUED.includes(verdict)) return decision('hand-off', 'a new session continues from its handoff');
    if (verdict === 'stalled' && mayNudge && session.capabilities.interrupts) {
      return decision('interrupt', 'it is silent, and is asked to go on');
    }
    if ((verdict === 'answered' || verdict === 'truncated') && mayNudge) {
      return decision('nudge', 'it is asked for what is missing');
    }
    return decision('retry', 'a new session tries again');
  },
};

const decision = (tag, reason) => ({ action: { tag }, reason });
