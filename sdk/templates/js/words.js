// Words of others in a prompt or a document: each on a line of its own, and lists with an end.
const LINE_CHARS = 120;
export const LINES = 60;

export const listed = (lines) =>
  lines.length <= LINES ? lines : [...lines.slice(0, LINES), `- and ${lines.length - LINES} more`];

// They cannot pass for a heading or for another item.
export const line = (words) => words.slice(0, LINE_CHARS).toWellFormed().replace(/\s+/g, ' ').trim();

// A section of a prompt or document. Of rank 0, the host never leaves it out.
export const section = (id, heading, lines, rank = 0) => ({
  id,
  heading,
  blocks: [{ tag: 'markdown', val: `${lines.join('\n')}\n` }],
  rank,
});

export const objective = ({ id, description }) => `- ${line(id)}: ${line(description)}`;
