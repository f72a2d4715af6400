"""The policy of a team: the classes here are what the component answers with. Each decision is in a file of its own."""

from decisions import compaction, exhaustion, prompting, splitting
from decisions.compaction import Compaction
from decisions.exhaustion import Exhaustion
from decisions.prompting import Prompting
from decisions.splitting import Splitting
from settings import answer

Settings = answer([one.SETTING for one in (exhaustion, compaction, splitting, prompting)])
