"""Settings: short builders for a schema, and the whole validation of given values against it."""

from math import isfinite

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.settings import Problem, Setting
from wit_world.imports import types

KINDS = {
    types.SettingValue_Flag: "true or false",
    types.SettingValue_Integer: "a whole number",
    types.SettingValue_Number: "a number",
    types.SettingValue_Text: "a text",
    types.SettingValue_Texts: "a list of texts",
}


def flag(key, value, doc):
    return Setting(key, doc, types.SettingValue_Flag(value), None, None, [])


def integer(key, value, bounds, doc):
    return Setting(key, doc, types.SettingValue_Integer(value), float(bounds[0]), float(bounds[1]), [])


def number(key, value, bounds, doc):
    return Setting(key, doc, types.SettingValue_Number(float(value)), float(bounds[0]), float(bounds[1]), [])


def text(key, value, doc, choices=()):
    return Setting(key, doc, types.SettingValue_Text(value), None, None, list(choices))


def texts(key, values, doc):
    return Setting(key, doc, types.SettingValue_Texts(list(values)), None, None, [])


def answer(schema):
    """The interface `settings` for this schema."""

    class Settings(exports.Settings):
        def schema(self):
            return schema

        def validate(self, given):
            return validated(schema, given)

    return Settings


def validated(schema, given):
    """Every key of the schema once, in its order, defaults filled in. Raises every problem, by key."""
    known = {setting.key: setting for setting in schema}
    values, problems = {}, []
    for key, value in given:
        if key in values:
            message = "is given twice"
        elif key not in known:
            message = f"there is no such setting; there are {', '.join(known)}"
        else:
            values[key] = value = canonical(known[key], value)
            message = wrong(known[key], value)
        if message:
            problems.append(Problem(key, message))
    if problems:
        raise Err(problems)
    return [(setting.key, values.get(setting.key, setting.default)) for setting in schema]


def canonical(setting, value):
    """A whole number is fine where a number is asked for, and becomes one."""
    widens = isinstance(setting.default, types.SettingValue_Number) and isinstance(value, types.SettingValue_Integer)
    return types.SettingValue_Number(float(value.value)) if widens else value


def wrong(setting, given):
    kind = type(setting.default)
    if type(given) is not kind:
        return f"must be {KINDS[kind]}, not {KINDS[type(given)]}"
    value = given.value
    if kind in (types.SettingValue_Integer, types.SettingValue_Number):
        if not isfinite(value):
            return "must be a finite number"
        if setting.minimum is not None and value < setting.minimum:
            return f"must be at least {setting.minimum:g}, not {value:g}"
        if setting.maximum is not None and value > setting.maximum:
            return f"must be at most {setting.maximum:g}, not {value:g}"
    if kind is types.SettingValue_Text and setting.choices and value not in setting.choices:
        return f"must be one of {', '.join(setting.choices)}, not {value!r}"
    return None
