"""Words of others in a prompt or a document: each on a line of its own, and lists with an end."""

LINE_CHARS = 120
LINES = 60


def listed(lines):
    lines = list(lines)
    return lines if len(lines) <= LINES else [*lines[:LINES], f"- and {len(lines) - LINES} more"]


def line(words):
    """They cannot pass for a heading or for another item."""
    return " ".join(words[:LINE_CHARS].split())


def objective(one):
    return f"- {line(one.id)}: {line(one.description)}"
