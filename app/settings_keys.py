"""Every key of the settings, read off the structs: its type in words, its text form, its nearest neighbours."""

from __future__ import annotations

import difflib
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from app.settings import Section, Settings, SettingsError
from indexer.documents import TYPES

ENTRIES: Mapping[str, tuple[str, ...]] = {"index.max_file_mb": TYPES}
"""The entries that a table accepts; a table that is not named here accepts any."""

_WORDS = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """One setting."""

    name: str
    """dotted: index.workers"""
    type: Any
    """as annotated in the struct: what msgspec checks a value against"""
    default: Any
    description: str

    @property
    def info(self) -> msgspec.inspect.Type:
        """The type without its description, for looking at."""
        info = msgspec.inspect.type_info(self.type)
        return info.type if isinstance(info, msgspec.inspect.Metadata) else info

    @property
    def is_table(self) -> bool:
        return isinstance(self.info, msgspec.inspect.DictType)

    @property
    def variable(self) -> str:
        """The environment variable: FOLTR_INDEX__WORKERS."""
        return "FOLTR_" + self.name.upper().replace(".", "__")


@cache
def keys() -> dict[str, Key]:
    """All settings by dotted name, in the order of the structs."""
    found = {}
    for section, struct in sections().items():
        hints = typing.get_type_hints(struct, include_extras=True)
        defaults = struct()
        for field in struct.__struct_fields__:
            name = f"{section}.{field}"
            found[name] = Key(name, hints[field], getattr(defaults, field), _description(hints[field]))
    return found


@cache
def sections() -> dict[str, type[Section]]:
    """The struct of each section by its name."""
    return dict(typing.get_type_hints(Settings))


def find(name: str, source: str) -> tuple[Key, str]:
    """The key that a dotted name means, and the entry where it names one in a table ("" otherwise).

    Raises SettingsError with the nearest known names.
    """
    if name in keys():
        return keys()[name], ""
    table, _, entry = name.partition(".")
    field, _, entry = entry.partition(".")
    key = keys().get(f"{table}.{field}")
    if key is None or not key.is_table:
        raise SettingsError(f"{source}: unknown key `{name}`; {nearest(name)}")
    known = ENTRIES.get(key.name)
    if known is not None and entry not in known:
        raise SettingsError(f"{source}: unknown key `{name}`; {key.name} has {', '.join(known)}")
    return key, entry


def nearest(name: str) -> str:
    """A hint that names the keys most like `name`."""
    if "." not in name:
        tables = list(sections())
        like = difflib.get_close_matches(name, tables, n=1)
        return f"the nearest table is `[{like[0]}]`" if like else f"the tables are {', '.join(tables)}"
    by_field = {key.partition(".")[2]: key for key in keys()}
    wrong_section = by_field.get(name.rpartition(".")[2])
    like = [wrong_section] if wrong_section else difflib.get_close_matches(name, list(keys()), n=1, cutoff=0.5)
    if not like:
        like = [by_field[m] for m in difflib.get_close_matches(name.rpartition(".")[2], list(by_field), n=1)]
    if like:
        return f"the nearest known one is `{like[0]}`"
    section = name.partition(".")[0]
    known = [key for key in keys() if key.startswith(section + ".")] or list(sections())
    return f"known: {', '.join(known)}"


def check(key: Key, entry: str, value: Any, source: str) -> Any:
    """`value` as the setting holds it; raises SettingsError that says what was wanted and what came."""
    wanted: Any = key.type
    info = key.info
    if entry and isinstance(info, msgspec.inspect.DictType):
        wanted = typing.get_args(typing.get_args(key.type)[0])[1]
        info = info.value_type
    try:
        value = msgspec.convert(value, wanted, strict=True)
    except msgspec.ValidationError as error:
        name = f"{key.name}.{entry}" if entry else key.name
        raise SettingsError(f"{source}: {name} wants {in_words(info)}, got {value!r}") from error
    if isinstance(value, float) and value != value:
        raise SettingsError(f"{source}: {key.name} wants {in_words(info)}, got {value!r}")
    if key.name == "search.languages":
        _known_languages(value, source)
    if key.name == "index.roots":
        return [_absolute(folder, source) for folder in value]
    return value


def from_text(key: Key, entry: str, text: str) -> Any:
    """The value that a variable or a flag writes as text; what it cannot read it gives back for `check` to refuse.

    Lists are comma-separated or a TOML array, tables are `name=value` pairs or a TOML inline table.
    """
    info = key.info
    if entry and isinstance(info, msgspec.inspect.DictType):
        return _plain(info.value_type, text)
    if isinstance(info, msgspec.inspect.ListType):
        if text.lstrip().startswith("["):
            return _toml(text)
        return [item.strip() for item in text.split(",") if item.strip()]
    if isinstance(info, msgspec.inspect.DictType):
        if text.lstrip().startswith("{"):
            return _toml(text)
        pairs = [item.partition("=") for item in text.split(",") if item.strip()]
        return {name.strip(): _plain(info.value_type, value.strip()) for name, _, value in pairs}
    return _plain(info, text)


def in_words(info: msgspec.inspect.Type) -> str:
    """A type for a person: "a whole number from 0 to 256"."""
    if isinstance(info, msgspec.inspect.Metadata):
        return in_words(info.type)
    if isinstance(info, msgspec.inspect.BoolType):
        return "true or false"
    if isinstance(info, (msgspec.inspect.IntType, msgspec.inspect.FloatType)):
        noun = "a whole number" if isinstance(info, msgspec.inspect.IntType) else "a number"
        return noun + _range(info)
    if isinstance(info, msgspec.inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in info.values)
    if isinstance(info, msgspec.inspect.ListType):
        return "a list, each " + in_words(info.item_type)
    if isinstance(info, msgspec.inspect.DictType):
        return "a table of names, each with " + in_words(info.value_type)
    return "a text"


def _range(info: msgspec.inspect.IntType | msgspec.inspect.FloatType) -> str:
    low = f"from {info.ge}" if info.ge is not None else f"above {info.gt}" if info.gt is not None else ""
    high = f"to {info.le}" if info.le is not None else ""
    return "".join(" " + part for part in (low, high) if part)


def _plain(info: msgspec.inspect.Type, text: str) -> Any:
    info = info.type if isinstance(info, msgspec.inspect.Metadata) else info
    try:
        if isinstance(info, msgspec.inspect.BoolType):
            return _WORDS.get(text.strip().lower(), text)
        if isinstance(info, msgspec.inspect.IntType):
            return int(text)
        if isinstance(info, msgspec.inspect.FloatType):
            return float(text)
    except ValueError:
        return text
    return text


def _toml(text: str) -> Any:
    try:
        return tomllib.loads("value = " + text)["value"]
    except tomllib.TOMLDecodeError:
        return text


def _absolute(folder: str, source: str) -> str:
    path = Path(folder).expanduser()
    if not path.is_absolute():
        raise SettingsError(f"{source}: index.roots wants absolute folders (or ~/...), got {folder!r}")
    return str(path)


def _known_languages(languages: list[str], source: str) -> None:
    from indexer.text.language import STEMMERS

    known = {*STEMMERS, *STEMMERS.values()}
    for language in languages:
        if language.lower() not in known:
            raise SettingsError(f"{source}: search.languages wants of {', '.join(STEMMERS.values())}, got {language!r}")


def _description(hint: Any) -> str:
    metadata = getattr(hint, "__metadata__", ())
    return " ".join(m.description for m in metadata if isinstance(m, msgspec.Meta) and m.description)
