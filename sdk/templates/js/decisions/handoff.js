// What a session leaves to the one after it.
import { line, listed, objective } from '../words.js';

export const settings = [];

export const handoff = {
  compose(o) {
    const open = o.objectives.filter((objective) => objective.status !== 'done');
    const done = o.objectives.filter((objective) => objective.status === 'done');
    const document = [
      `# Handoff of ${line(o.phase.title)}`,
      '## Done',
      ...listed(done.map(objective)),
      '## Immediate next action',
      ...listed(open.map(objective)),
      '## Changed files',
      ...listed(o.changedFiles.map((file) => `- \`${line(file.path)}\``)),
    ];
    return {
      document: document.join('\n') + '\n',
      index: `- ${new Date(Number(o.askedAtMs)).toISOString().slice(0, 19)}Z: ${line(o.phase.title)}\n`,
      continuer: 'successor',
      leftOut: [],
      reason: 'objectives and files, as the host knows them',
    };
  },
};
