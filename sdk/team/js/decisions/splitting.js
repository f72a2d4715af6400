// A large phase whose objectives name files in several top folders: one part per folder.
import { getInteger } from 'baton:policy/config@0.1.0';
import { integer } from '../settings.js';

// Characters of a part's title.
const TITLE_CHARS = 60;
// The part of the objectives that name no folder.
const REST = 'other files';
// Marks around a path in a sentence.
const AROUND = /^["'`()[\]<>,;:!?]+|["'`()[\]<>,;:!?]+$/g;

export const setting = integer(
  'objectives-at-most',
  4,
  [1, 100],
  'Split a phase that has more open objectives than this, and in more than one top folder.',
);

export const splitting = {
  decide(o) {
    const isAllowed = o.phase.depth < o.limits.depth && o.wish !== 'never';
    if (o.occasion.tag !== 'phase-start' || !isAllowed) return;
    const open = o.objectives.filter(({ status }) => status !== 'done');
    if (open.length <= Number(getInteger('objectives-at-most'))) return;
    // In the order in which the objectives name them.
    const parts = Map.groupBy(open, folder);
    const folders = parts.size - (parts.has(undefined) ? 1 : 0);
    if (folders < 2 || parts.size > o.limits.parts) return;
    const part = ([of, objectives]) => ({
      title: [...(of ?? REST)].slice(0, TITLE_CHARS).join(''),
      objectives: objectives.map(({ id }) => id),
      order: 'direct',
      maxTurns: undefined,
    });
    const reason = `${open.length} open objectives name files in ${folders} folders: ${parts.size} parts`;
    return { action: { tag: 'split', val: [...parts].map(part) }, reason };
  },
};

// The top folder of the first file that an objective names.
function folder({ description, expectedFiles: [file] }) {
  if (file) return top(file.path);
  // A path has a slash: of a long description only the words with one are looked at, since each costs fuel.
  let end = 0;
  for (let at = description.indexOf('/'); at >= 0; at = description.indexOf('/', end)) {
    let start = at;
    while (start > end && !isSpace(description[start - 1])) start--;
    for (end = at; end < description.length && !isSpace(description[end]); ) end++;
    const found = named(description.slice(start, end));
    if (found) return found;
  }
}

const isSpace = (letter) => ' \t\r\n'.includes(letter);

// The top folder of a word that is a path: it has a folder, and its last name has a dot or is empty.
function named(word) {
  const path = word.replace(AROUND, '');
  const last = path.replace(/\.+$/, '').split('/').at(-1);
  if (path.includes('://') || !(last === '' || last.includes('.'))) return;
  return top(path);
}

// The first folder of a relative path.
function top(path) {
  const relative = path.startsWith('./') ? path.slice(2) : path;
  const end = relative.indexOf('/');
  return end > 0 ? relative.slice(0, end) : undefined;
}
