"""Decides {{decides}}. Each decision is in a file of its own; the classes here are what the component answers with."""

from decisions import {{modules}}
{{classes}}
from settings import answer

Settings = answer([{{settings}}])
