"""Words of others in a prompt or a document: each on a line of its own, and lists with an end."""

from wit_world.imports.questions import Block_Markdown, Section

LINE_CHARS = 120
LINES = 60


def listed(lines):
    lines = list(lines)
    return lines if len(lines) <= LINES else [*lines[:LINES], f"- and {len(lines) - LINES} more"]


def line(words):
    """They cannot pass for a heading or for another item."""
    return " ".join(words[:LINE_CHARS].split())


def section(name, heading, lines, rank=0):
    """A section of a prompt or document. Of rank 0, the host never leaves it out."""
    return Section(name, heading, [Block_Markdown("\n".join(lines) + "\n")], rank)


def objective(one):
    return f"- {line(one.id)}: {line(one.description)}"
