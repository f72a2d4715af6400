// Which objectives of a prompt that was answered are done.
import { getFlag } from 'baton:policy/config@0.1.0';
import { flag } from '../settings.js';

export const settings = [
  flag('report-needed', false, 'Only what the agent reports as done is done; else its answer is enough.'),
];

export const completion = {
  decide(o) {
    const reportNeeded = getFlag('report-needed');
    // What this session itself reported counts more than that it answered.
    const isDone = ({ reported }) => (reported?.bySession ? reported.status === 'done' : !reportNeeded);
    const { objectives } = o.session;
    const done = objectives.filter(isDone).map(({ id }) => id);
    return { done, evidence: [], reason: `${done.length} of ${objectives.length} objectives are done` };
  },
};
