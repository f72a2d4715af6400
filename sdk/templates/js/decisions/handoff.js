// What a session leaves to the one after it.
import { line, listed, objective, section } from '../words.js';

export const settings = [];

export const handoff = {
  compose(o) {
    const open = o.objectives.filter((objective) => objective.status !== 'done');
    const done = o.objectives.filter((objective) => objective.status === 'done');
    const document = [
      section('title', undefined, [`# Handoff of ${line(o.phase.title)}`]),
      section('done', 'Done', listed(done.map(objective))),
      section('next', 'Immediate next action', listed(open.map(objective))),
      section('files', 'Changed files', listed(o.changedFiles.map((file) => `- \`${line(file.path)}\``)), 1),
    ];
    const at = `${new Date(Number(o.askedAtMs)).toISOString().slice(0, 19)}Z`;
    return {
      document,
      index: [section('index', undefined, [`- ${at}: ${line(o.phase.title)}`])],
      continuer: 'successor',
      leftOut: [],
      reason: 'objectives and files, as the host knows them',
    };
  },
};
