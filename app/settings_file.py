"""The file config.toml: reading it with line numbers, and writing the commented default that documents it."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from app.paths import SettingsError
from app.settings_keys import Key, in_words, keys, sections

_HEADER = """\
# The settings of foltr-search. Every line that begins with `#` is a default: take the `#` away to change it.
#
# A flag wins over an environment variable, that over this file, and that over the default:
#     foltr-search --set index.workers=2 ...   >   FOLTR_INDEX__WORKERS=2   >   this file   >   default
# `foltr-search config show` tells which value is in force and where it comes from; `config check` checks this file.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of the file."""

    name: str
    """dotted"""
    value: Any
    source: str
    """the file and, where it is known, the line"""


def read_config(path: Path) -> list[Entry]:
    """The keys of a settings file, none where there is no file; raises SettingsError where it is not TOML."""
    try:
        text = path.read_bytes().decode("utf-8")
        content = tomllib.loads(text)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise SettingsError(f"{path}: wanted a TOML file, got: {error}") from error
    lines = _line_numbers(text)
    return [Entry(name, value, _source(path, name, lines)) for name, value in _flatten(content)]


def default_file() -> str:
    """The commented default settings file, with every key, its meaning, its type and its default."""
    parts = [_HEADER]
    for section, struct in sections().items():
        parts.append(f"\n# {(struct.__doc__ or '').strip()}\n[{section}]\n")
        parts.extend(_commented(key) for key in keys().values() if key.name.startswith(section + "."))
    return "".join(parts)


def toml_value(value: Any) -> str:
    """A value as TOML writes it, on one line."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_quoted(name)} = {toml_value(item)}" for name, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _commented(key: Key) -> str:
    explanation = textwrap.wrap(f"{key.description} ({in_words(key.info)})", width=117)
    comment = "".join(f"# {line}\n" for line in explanation)
    return f"{comment}# {key.name.partition('.')[2]} = {toml_value(key.default)}\n"


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def _flatten(content: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted keys of the two levels that the settings have; deeper tables are values of their key."""
    for section, value in content.items():
        if isinstance(value, dict) and section in sections():
            yield from ((f"{section}.{name}", inner) for name, inner in value.items())
        else:
            yield section, value


def _line_numbers(text: str) -> dict[str, int]:
    """The line of each dotted key, for messages.

    A line inside a multi-line value can look like a key; then a message names that line, no worse.
    """
    numbers: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        assignment = re.match(r"\s*([A-Za-z0-9_.\"'-]+)\s*=", line)
        if header:
            section = header[1]
            numbers.setdefault(section, number)
        elif assignment:
            name = assignment[1].replace('"', "").replace("'", "")
            numbers.setdefault(f"{section}.{name}" if section else name, number)
    return numbers


def _source(path: Path, name: str, lines: dict[str, int]) -> str:
    number = lines.get(name) or next((n for known, n in lines.items() if known.startswith(name + ".")), 0)
    return f"{path}, line {number}" if number else str(path)
