"""The prompts of the next policy, each with the rules of the house."""

from wit_world import exports
from wit_world.imports import config, prompting
from wit_world.imports.questions import Block_Markdown, Section

from settings import texts

# The section of the built-in policy that has to come last: it says how to report.
LAST_SECTION = "reporting"

SETTING = texts(
    "house-rules",
    [],
    "The lines of the section that every prompt gets; without any, there is none.",
)


class Prompting(exports.Prompting):
    def compose(self, observation):
        rules = config.get_texts("house-rules")
        written = prompting.compose(observation) if rules else None
        if written is None:
            return None
        ids = [section.id for section in written.sections]
        at = ids.index(LAST_SECTION) if LAST_SECTION in ids else len(ids)
        section = Section("house-rules", "House rules", [Block_Markdown("\n".join(rules))], 0)
        written.sections.insert(at, section)
        return written
