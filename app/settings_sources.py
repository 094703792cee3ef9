"""Where each setting comes from: flag, then environment variable, then config.toml, then the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from app.paths import Paths, SettingsError
from app.settings import Settings
from app.settings_file import read_config
from app.settings_keys import Key, check, find, from_text, keys, sections

DEFAULT = "default"

NOT_SETTINGS = ("FOLTR_SERVER__",)
"""Beginnings of variables with two underscores that belong to other programs of this distribution."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One value that one source gives to one key."""

    name: str
    """dotted; with the entry's name where it sets one entry of a table"""
    value: Any
    source: str
    """for a person: "~/.config/foltr-search/config.toml, line 12", "FOLTR_INDEX__WORKERS", "--set" """
    is_text: bool
    """True: `value` is text that has still to be read as the key's type"""


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings in force and, by dotted key, the source of each."""

    settings: Settings
    sources: Mapping[str, str]


def resolve(paths: Paths, env: Mapping[str, str], *, flags: Mapping[str, str]) -> Effective:
    """The settings in force; raises SettingsError for the first problem, counting the others."""
    effective, problems = examine(paths, env, flags=flags)
    if problems:
        more = f" (and {len(problems) - 1} more: foltr-search config check)" if len(problems) > 1 else ""
        raise SettingsError(problems[0] + more)
    return effective


def examine(paths: Paths, env: Mapping[str, str], *, flags: Mapping[str, str]) -> tuple[Effective, list[str]]:
    """The settings in force without the values that cannot be used, and one line for each of those."""
    problems: list[str] = []
    try:
        assignments = [Assignment(e.name, e.value, e.source, is_text=False) for e in read_config(paths.config_file)]
    except SettingsError as error:
        assignments = []
        problems.append(str(error))
    assignments += _from_environment(env)
    assignments += [Assignment(name, text, f"--set {name}", is_text=True) for name, text in flags.items()]
    values = {name: key.default for name, key in keys().items()}
    sources = dict.fromkeys(values, DEFAULT)
    for assignment in assignments:
        try:
            key, value = _checked(assignment)
        except SettingsError as error:
            problems.append(str(error))
            continue
        # A table is completed, not replaced: a cap for PDF leaves the other caps as they are.
        values[key.name] = {**values[key.name], **value} if key.is_table else value
        sources[key.name] = assignment.source
    return Effective(_build(values), sources), problems


def _checked(assignment: Assignment) -> tuple[Key, Any]:
    key, entry = find(assignment.name, assignment.source)
    value = from_text(key, entry, assignment.value) if assignment.is_text else assignment.value
    if key.is_table and not entry and isinstance(value, dict):
        for name in value:
            find(f"{key.name}.{name}", assignment.source)
    value = check(key, entry, value, assignment.source)
    return key, {entry: value} if entry else value


def _from_environment(env: Mapping[str, str]) -> Iterable[Assignment]:
    """The variables FOLTR_SECTION__KEY; an empty one counts as not set."""
    for variable, text in sorted(env.items()):
        if not variable.startswith("FOLTR_") or "__" not in variable or variable.startswith(NOT_SETTINGS):
            continue
        if text:
            name = variable.removeprefix("FOLTR_").lower().replace("__", ".")
            yield Assignment(name, text, variable, is_text=True)


def _build(values: Mapping[str, Any]) -> Settings:
    built = {
        section: struct(**{field: values[f"{section}.{field}"] for field in struct.__struct_fields__})
        for section, struct in sections().items()
    }
    return msgspec.structs.replace(Settings(), **built)
