"""One file a decision."""
