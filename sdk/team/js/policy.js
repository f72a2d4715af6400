// The policy of a team: what is exported here is what the component answers. Each decision is in a file of its own.
import * as exhaustionDecision from './decisions/exhaustion.js';
import * as compactionDecision from './decisions/compaction.js';
import * as splittingDecision from './decisions/splitting.js';
import * as promptingDecision from './decisions/prompting.js';
import { answer } from './settings.js';

export const exhaustion = exhaustionDecision.exhaustion;
export const compaction = compactionDecision.compaction;
export const splitting = splittingDecision.splitting;
export const prompting = promptingDecision.prompting;

export const settings = answer(
  [exhaustionDecision, compactionDecision, splittingDecision, promptingDecision].map(({ setting }) => setting),
);
