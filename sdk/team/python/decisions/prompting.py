"""The prompts of the next policy, each with the rules of the house."""

from wit_world import exports
from wit_world.imports import config, prompting

from settings import texts

# Bytes of a prompt.
PROMPT_BYTES = 32 << 10
# The section of the built-in policy that has to come last: it says how to report.
LAST_SECTION = "\n## Reporting\n"

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
        at = written.prompt.rfind(LAST_SECTION)
        at = len(written.prompt) if at < 0 else at
        section = "\n## House rules\n" + "\n".join(rules) + "\n"
        written.prompt = written.prompt[:at] + section + written.prompt[at:]
        # Without room for them, the next policy's prompt goes out as it is.
        return written if len(written.prompt.encode()) <= PROMPT_BYTES else None
