"""Settings: short builders for a schema."""

from wit_world import exports
from wit_world.exports.settings import Setting
from wit_world.imports import types


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
    """The interface `settings` for this schema. The host holds what is given to it."""

    class Settings(exports.Settings):
        def schema(self):
            return schema

    return Settings
