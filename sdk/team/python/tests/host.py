"""A host in memory in place of a component's imports: settings, texts by handle,
past sessions, the next policy. Offsets are bytes, as in the contract.

Import it before the policy: it finds the modules of the contract that `python3 build.py bindings` makes.
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(FOLDER), str(FOLDER / "build" / "bindings")]

from wit_world.imports import config, facts_history, prompting, text, types  # noqa: E402
from wit_world.imports.text import Hit  # noqa: E402

_settings = {}
_texts = []
_past = []
_next = [None]


def host(policy, given=(), texts=(), past=(), next_answer=None):
    """A fresh host with the settings of a policy, these texts and past sessions, and what the next policy answers."""
    _settings.clear()
    _settings.update((setting.key, setting.default) for setting in policy.Settings().schema())
    for key, value in given:
        _setting(key, type(value))
        _settings[key] = value
    _texts[:] = texts
    _past[:] = past
    _next[:] = [next_answer]


def _setting(key, kind):
    value = _settings[key]
    assert isinstance(value, kind), f"the schema has no setting {key} of type {kind.__name__}"
    return value.value


def _slice(text_id, span):
    body = _texts[text_id].encode() if text_id < len(_texts) else b""
    return body[span.start : span.end].decode(errors="replace")


def _find_any(text_id, span, patterns, limit):
    """The first occurrences of any pattern, leftmost first and the longest at one place; ASCII letters in either case."""
    body = (_texts[text_id].encode() if text_id < len(_texts) else b"")[: span.end].lower()
    bodies = sorted(((one.encode().lower(), place) for place, one in enumerate(patterns) if one), key=lambda one: -len(one[0]))
    hits, at = [], span.start
    while at < len(body) and len(hits) < limit:
        here = next(((one, place) for one, place in bodies if body.startswith(one, at)), None)
        if here:
            hits.append(Hit(here[1], types.Span(at, at + len(here[0]))))
        at += len(here[0]) if here else 1
    return hits


config.get_flag = lambda key: _setting(key, types.SettingValue_Flag)
config.get_integer = lambda key: _setting(key, types.SettingValue_Integer)
config.get_number = lambda key: _setting(key, types.SettingValue_Number)
config.get_text = lambda key: _setting(key, types.SettingValue_Text)
config.get_texts = lambda key: _setting(key, types.SettingValue_Texts)
facts_history.past_sessions = lambda limit: _past[:limit]
prompting.compose = lambda observation: _next[0]
text.len = lambda text_id: len(_texts[text_id].encode()) if text_id < len(_texts) else 0
text.slice = _slice
text.find_any = _find_any
text.find_setting = lambda text_id, span, key, limit: _find_any(text_id, span, config.get_texts(key), limit)
