// Words of others in a prompt or a document: each on a line of its own, and lists with an end.
const LINE_CHARS = 120;
export const LINES = 60;

export const listed = (lines) =>
  lines.length <= LINES ? lines : [...lines.slice(0, LINES), `- and ${lines.length - LINES} more`];

// They cannot pass for a heading or for another item.
export const line = (words) => words.slice(0, LINE_CHARS).toWellFormed().replace(/\s+/g, ' ').trim();

export const objective = ({ id, description }) => `- ${line(id)}: ${line(description)}`;
