"""Settings of a program: frozen structs in, checked values out, with the file, the line and the nearest known key.

The structs of a `Scheme` are the one source of every key, its type, its range, its default and its description: the
commented default file, the environment variables, flags, listings and the documentation all come from them. Each
program has one: the device (app.settings) and the server (federation_server.settings). Precedence: flag, then
environment variable, then the file, then the default. Everything here works on text; the programs read their files.
"""

from __future__ import annotations

import re
import textwrap
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import inspect

S = TypeVar("S", bound=msgspec.Struct)

DEFAULT = "default"
"""the source of a setting that nobody set"""

_WORDS = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of settings: a table of the file."""


class Key(msgspec.Struct, frozen=True, dict=True):
    """One setting."""

    name: str
    """dotted: index.workers"""
    type: Any
    """as annotated in the struct: what msgspec checks a value against"""
    default: Any
    description: str

    @cached_property
    def info(self) -> inspect.Type:
        """The type without its description, for inspection."""
        info = inspect.type_info(self.type)
        return info.type if isinstance(info, inspect.Metadata) else info

    @property
    def is_table(self) -> bool:
        """Whether it maps names of the user's choice to values."""
        return isinstance(self.info, inspect.DictType)


class Assignment(msgspec.Struct, frozen=True):
    """One value that one source gives to one key."""

    name: str
    """dotted; followed by the entry's name if it sets one entry of a table"""
    value: Any
    source: str
    """for a person: "~/.config/foltr-search/config.toml, line 12", "FOLTR_INDEX__WORKERS", "--set" """
    is_text: bool
    """True: `value` is text that must still be read as the key's type"""


class Effective(msgspec.Struct, Generic[S], frozen=True):
    """The settings in force and, by dotted key, the source of each."""

    settings: S
    sources: Mapping[str, str]


class Scheme(msgspec.Struct, Generic[S], frozen=True, kw_only=True, dict=True):
    """All settings of one program, and how they are read."""

    struct: type[S]
    """a struct of sections, each with a default for every key"""
    prefix: str
    """prefix of the environment variables: FOLTR gives FOLTR_INDEX__WORKERS for index.workers"""
    header: str
    """comment at the top of the default file"""
    error: type[Exception]
    """raised for settings that cannot be used"""
    home: str = ""
    """the section whose variables may leave out its name: FOLTR_SERVER__PORT for server.port"""
    others: tuple[str, ...] = ()
    """prefixes of variables that belong to other programs"""
    entries: Mapping[str, tuple[str, ...]] = {}
    """the entries that a table accepts, by dotted key; a table that is not named here accepts any"""
    checks: Mapping[str, Callable[[Any], Any]] = {}
    """dotted key -> returns the value to use; its ValueError says what was wanted and what came"""
    contradictions: Callable[[S], Iterable[str]] | None = None
    """what cannot hold together in the settings as a whole, each in one line"""
    dotted: bool = False
    """whether the default file writes keys in full and no table: then a line may be pasted anywhere, also at its end"""

    @cached_property
    def sections(self) -> dict[str, type[msgspec.Struct]]:
        return dict(typing.get_type_hints(self.struct))

    @cached_property
    def keys(self) -> dict[str, Key]:
        """All settings by dotted name, in the order of the structs."""
        found = {}
        for section, struct in self.sections.items():
            hints = typing.get_type_hints(struct, include_extras=True)
            defaults = struct()
            for name in struct.__struct_fields__:
                dotted = f"{section}.{name}"
                said = " ".join(one for one in getattr(hints[name], "__metadata__", ()) if isinstance(one, str))
                found[dotted] = Key(dotted, hints[name], getattr(defaults, name), said)
        return found

    # from the sources to the settings

    def resolve(
        self, file: str, text: str, env: Mapping[str, str], *, flags: Mapping[str, str], hint: str = "config check",
        below: Sequence[Assignment] = (),
    ) -> Effective[S]:  # fmt: skip
        """The settings in force; raises the scheme's error for the first problem, counting the others.

        As `examine`; `hint` names the command that lists all problems.
        """
        effective, problems = self.examine(file, text, env, flags=flags, below=below)
        if problems:
            more = f" (and {len(problems) - 1} more: {hint})" if len(problems) > 1 else ""
            raise self.error(problems[0] + more)
        return effective

    def examine(
        self, file: str, text: str, env: Mapping[str, str], *, flags: Mapping[str, str],
        below: Sequence[Assignment] = (),
    ) -> tuple[Effective[S], list[str]]:  # fmt: skip
        """The settings in force without the values that cannot be used, and one line for each of those.

        `text` is what the file of the name `file` holds; `flags` maps dotted keys to text. What lies `below` them all
        is another program's word: what of it cannot be used is passed over.
        """
        problems: list[str] = []
        assignments: list[Assignment] = []
        try:
            assignments += self.from_file(file, text) if text else ()
        except self.error as error:
            problems.append(str(error))
        assignments += self._from_environment(env)
        assignments += [Assignment(name, value, f"--set {name}", is_text=True) for name, value in flags.items()]
        values = {name: key.default for name, key in self.keys.items()}
        sources = dict.fromkeys(values, DEFAULT)
        for assignment in (*below, *assignments):
            try:
                key, value = self._checked(assignment)
            except self.error as error:
                problems += [] if assignment in below else [str(error)]
                continue
            # A table is completed, not replaced: a cap for PDF leaves the other caps as they are.
            values[key.name] = {**values[key.name], **value} if key.is_table else value
            sources[key.name] = assignment.source
        settings = self.struct(**{
            section: struct(**{name: values[f"{section}.{name}"] for name in struct.__struct_fields__})
            for section, struct in self.sections.items()
        })  # fmt: skip
        if self.contradictions is not None:
            problems += [f"{file}: {problem}" for problem in self.contradictions(settings)]
        return Effective(settings, sources), problems

    def from_file(self, file: str, text: str) -> Iterator[Assignment]:
        """What a file with this text sets, unchecked."""
        import tomllib  # without a settings file no parser is needed

        try:
            content = tomllib.loads(text)
        except ValueError as error:  # also a number of thousands of digits
            raise self.error(f"{file}: wanted a TOML file, got: {error}") from error
        lines = _line_numbers(text)
        for section, value in content.items():
            is_section = isinstance(value, dict) and section in self.sections
            own = {f"{section}.{name}": inner for name, inner in value.items()} if is_section else {section: value}
            for name, inner in own.items():  # a deeper table is the value of its key
                yield Assignment(name, inner, _source(file, name, lines), is_text=False)

    def _from_environment(self, env: Mapping[str, str]) -> Iterable[Assignment]:
        """The variables PREFIX_SECTION__KEY; an empty one counts as not set."""
        for variable, text in sorted(env.items()):
            section, marked, key = variable.removeprefix(self.prefix).partition("__")
            named = section.startswith("_") or (self.home and not section)
            mine = variable.startswith(self.prefix) and not variable.startswith(self.others) and named
            if mine and marked and text:
                name = f"{section.lstrip('_') or self.home}.{key.replace('__', '.')}".lower()
                yield Assignment(name, text, variable, is_text=True)

    def _checked(self, assignment: Assignment) -> tuple[Key, Any]:
        key, entry = self.find(assignment.name, assignment.source)
        value = _read_as(key, entry, assignment.value) if assignment.is_text else assignment.value
        if key.is_table and not entry and isinstance(value, dict):
            for name in value:
                self.find(f"{key.name}.{name}", assignment.source)
        value = self._check(key, entry, value, assignment.source)
        return key, {entry: value} if entry else value

    def _check(self, key: Key, entry: str, value: Any, source: str) -> Any:
        """`value` in the form of the setting; the scheme's error says what was wanted and what came."""
        wanted: Any = key.type
        info = key.info
        name = f"{key.name}.{entry}" if entry else key.name
        if entry and isinstance(info, inspect.DictType):
            wanted = typing.get_args(typing.get_args(key.type)[0])[1]
            info = info.value_type
        try:
            value = msgspec.convert(value, wanted, strict=True)
        except msgspec.ValidationError as error:
            inner = f" ({error})" if isinstance(info, (inspect.StructType, inspect.UnionType)) else ""
            raise self.error(f"{source}: {name} wants {in_words(info)}, got {value!r}{inner}") from error
        if isinstance(value, float) and value != value:
            raise self.error(f"{source}: {name} wants {in_words(info)}, got {value!r}")
        try:
            return self.checks[key.name](value) if key.name in self.checks else value
        except ValueError as error:
            raise self.error(f"{source}: {key.name} wants {error}") from error

    # names

    def find(self, name: str, source: str) -> tuple[Key, str]:
        """The key that a dotted name means, and the table entry if it names one ("" otherwise).

        Raises the scheme's error with the nearest known names.
        """
        if name in self.keys:
            return self.keys[name], ""
        table, _, entry = name.partition(".")
        key_name, _, entry = entry.partition(".")
        key = self.keys.get(f"{table}.{key_name}")
        if key is None or not key.is_table:
            raise self.error(f"{source}: unknown key `{name}`; {self.nearest(name)}")
        known = self.entries.get(key.name)
        if known is not None and entry not in known:
            raise self.error(f"{source}: unknown key `{name}`; {key.name} has {', '.join(known)}")
        return key, entry

    def nearest(self, name: str) -> str:
        """A hint that names the keys most like `name`."""
        import difflib

        if "." not in name:
            like = difflib.get_close_matches(name, list(self.sections), n=1)
            return f"the nearest table is `[{like[0]}]`" if like else f"the tables are {', '.join(self.sections)}"
        by_field = {key.partition(".")[2]: key for key in self.keys}
        wrong_section = by_field.get(name.rpartition(".")[2])
        like = [wrong_section] if wrong_section else difflib.get_close_matches(name, list(self.keys), n=1, cutoff=0.5)
        if not like:
            like = [by_field[m] for m in difflib.get_close_matches(name.rpartition(".")[2], list(by_field), n=1)]
        if like:
            return f"the nearest known one is `{like[0]}`"
        section = name.partition(".")[0]
        known = [key for key in self.keys if key.startswith(section + ".")] or list(self.sections)
        return f"known: {', '.join(known)}"

    # text

    def default_file(self) -> str:
        """The commented default settings file, with every key, its meaning, its type and its default."""
        parts = [self.header]
        for section, struct in self.sections.items():
            heading = "" if self.dotted else f"[{section}]\n"
            parts.append(f"\n# {(struct.__doc__ or '').strip()}\n{heading}")
            own = [key for key in self.keys.values() if key.name.startswith(section + ".")]
            parts.extend(_commented(key, key.name if self.dotted else key.name.partition(".")[2]) for key in own)
        return "".join(parts)

    def listing(self, effective: Effective[S], prefix: str = "") -> Iterator[str]:
        """One line for each setting in force, with its source; `prefix` narrows to one table or key."""
        for name in self.keys:
            if not prefix or name == prefix or name.startswith(prefix + "."):
                section, _, key = name.partition(".")
                value = getattr(getattr(effective.settings, section), key)
                yield f"{name} = {toml_value(value)}  # {effective.sources[name]}"


def toml_value(value: Any) -> str:
    """A value as TOML writes it, on one line."""
    import tomli_w

    value = msgspec.to_builtins(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{_quoted(name)} = {toml_value(item)}" for name, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _quoted(name: str) -> str:
    import tomli_w

    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def in_words(info: inspect.Type) -> str:
    """A type for a person: "a whole number from 0 to 256"."""
    if isinstance(info, inspect.Metadata):
        return in_words(info.type)
    if isinstance(info, inspect.BoolType):
        return "true or false"
    if isinstance(info, (inspect.IntType, inspect.FloatType)):
        return ("a whole number" if isinstance(info, inspect.IntType) else "a number") + _range(info)
    if isinstance(info, inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in info.values)
    if isinstance(info, inspect.ListType):
        return "a list, each " + in_words(info.item_type)
    if isinstance(info, inspect.DictType):
        return "a table of names, each with " + in_words(info.value_type)
    if isinstance(info, inspect.StructType):
        return f"a table with {info.tag_field} = {info.tag}"
    if isinstance(info, inspect.UnionType) and any(isinstance(one, inspect.LiteralType) for one in info.types):
        words = tuple(one for one in info.types if isinstance(one, inspect.LiteralType))
        others = tuple(one for one in info.types if not isinstance(one, inspect.LiteralType))
        rest = others[0] if len(others) == 1 else inspect.UnionType(others)
        return f"{' or '.join(str(value) for word in words for value in word.values)}, or {in_words(rest)}"
    if isinstance(info, inspect.UnionType) and all(isinstance(one, inspect.StructType) for one in info.types):
        kinds = [one for one in info.types if isinstance(one, inspect.StructType)]
        return f"a table with {kinds[0].tag_field} = one of {', '.join(str(one.tag) for one in kinds)}"
    return "a text"


def _range(info: inspect.IntType | inspect.FloatType) -> str:
    low = f"from {info.ge}" if info.ge is not None else f"above {info.gt}" if info.gt is not None else ""
    high = f"to {info.le}" if info.le is not None else ""
    return "".join(" " + part for part in (low, high) if part)


def _commented(key: Key, name: str) -> str:
    explanation = textwrap.wrap(f"{key.description} ({in_words(key.info)})", width=117, break_on_hyphens=False)
    comment = "".join(f"# {line}\n" for line in explanation)
    return f"{comment}# {name} = {toml_value(key.default)}\n"


def _read_as(key: Key, entry: str, text: str) -> Any:
    """The value that a variable or a flag gives as text; unreadable text is returned as it is, to be refused later.

    Lists are comma-separated or a TOML array, tables are `name=value` pairs or a TOML inline table.
    """
    info, items = key.info, [item.strip() for item in text.split(",") if item.strip()]
    if entry and isinstance(info, inspect.DictType):
        return _plain(info.value_type, text)
    if isinstance(info, inspect.ListType):
        return _toml(text) if text.lstrip().startswith("[") else items
    if isinstance(info, inspect.DictType) and not text.lstrip().startswith("{"):
        pairs = [item.partition("=") for item in items]
        return {name.strip(): _plain(info.value_type, value.strip()) for name, _, value in pairs}
    if isinstance(info, (inspect.DictType, inspect.StructType, inspect.UnionType)):
        return _toml(text)
    return _plain(info, text)


def _plain(info: inspect.Type, text: str) -> Any:
    info = info.type if isinstance(info, inspect.Metadata) else info
    with suppress(ValueError):
        if isinstance(info, inspect.BoolType):
            return _WORDS.get(text.strip().lower(), text)
        if isinstance(info, inspect.IntType):
            return int(text)
        if isinstance(info, inspect.FloatType):
            return float(text)
    return text


def _toml(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads("value = " + text)["value"]
    except ValueError:
        return text


def _line_numbers(text: str) -> dict[str, int]:
    """The line of each dotted key, for messages.

    A line inside a multi-line value can look like a key; then a message names that line, which does no harm.
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


def _source(file: str, name: str, lines: dict[str, int]) -> str:
    number = lines.get(name) or next((n for known, n in lines.items() if known.startswith(name + ".")), 0)
    return f"{file}, line {number}" if number else file
