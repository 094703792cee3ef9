"""A benchmark by its name: its options, and what it printed, kept as data in results/NAME.json.

A benchmark is a module with a docstring and a `main()`, or a package whose `__main__` has one. It prints; the tables
in its output are kept under the command that printed them, and replace what the same command printed before.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import msgspec

from benchmarks.tables import Table, tables_in

HERE = Path(__file__).parent
RESULTS = HERE / "results"


class Option(NamedTuple):
    """What may be asked for, where its default does not say all."""

    default: Any = None
    help: str = ""
    kind: Callable[[str], Any] | None = None
    choices: Sequence[Any] | None = None


def arguments(about: str | None, **options: Any) -> Any:
    """What was typed, by the names of the options, each a default or an `Option`.

    False is a flag, None a path, a sequence takes several values, a type has to be given, and [a type] takes as many as
    one likes.
    """
    parser = argparse.ArgumentParser(
        prog=sys.argv[0], description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, given in options.items():
        _add(parser, name, given if isinstance(given, Option) else Option(given))
    return parser.parse_args()


def _add(parser: argparse.ArgumentParser, name: str, option: Option) -> None:
    default, several = option.default, isinstance(option.default, (list, tuple))
    first = default[0] if several and default else default
    if isinstance(first, type):
        parser.add_argument(name, type=first, nargs="*" if several else None, help=option.help)
        return
    flag = f"--{name.replace('_', '-')}"
    if default is False:
        parser.add_argument(flag, action="store_true", help=option.help)
    else:
        kind, nargs = option.kind or (Path if first is None else type(first)), "+" if several else None
        parser.add_argument(flag, type=kind, nargs=nargs, default=default, choices=option.choices, help=option.help)


class Result(msgspec.Struct, forbid_unknown_fields=True):
    """What one command printed."""

    command: str
    """"" for what no command prints"""
    tables: list[Table]


def benchmarks() -> Iterator[tuple[str, str]]:
    """The name of each, and what it measures."""
    for path in sorted([*HERE.glob("[a-z]*.py"), *HERE.glob("*/__main__.py")]):
        text = path.read_text(encoding="utf-8")
        if "\ndef main(" in text:
            yield path.parent.name if path.stem == "__main__" else path.stem, text.split('"""')[1].partition("\n")[0]


def run(name: str, words: Sequence[str], folder: Path = RESULTS) -> int:
    """Run a benchmark on these words, keep its tables, and give its exit code."""
    package = importlib.util.find_spec(f"benchmarks.{name}.__main__") if (HERE / name).is_dir() else None
    sys.argv = [f"python -m benchmarks {name}", *words]
    printed = _Copied(sys.stdout)
    with redirect_stdout(printed):
        code = importlib.import_module(package.name if package else f"benchmarks.{name}").main()
    tables = list(tables_in(printed.getvalue().splitlines()))
    if tables:
        keep(name, Result(" ".join([sys.argv[0], *map(_without_folders, words)]), tables), folder)
    return code or 0


class _Copied(io.StringIO):
    """What is printed, while it is printed."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(text)
        return super().write(text)

    def flush(self) -> None:
        self._stream.flush()


def _without_folders(word: str) -> str:
    """A path by its last name, for the others are those of one machine."""
    return Path(word).name if os.sep in word else word


def results(name: str, folder: Path = RESULTS) -> list[Result]:
    """What is kept of a benchmark, [] for nothing."""
    path = folder / f"{name}.json"
    return msgspec.json.decode(path.read_bytes(), type=list[Result]) if path.exists() else []


def keep(name: str, fresh: Result, folder: Path = RESULTS) -> None:
    """Put a result in the place of what the same command printed before, else after all others."""
    every = results(name, folder)
    places = [i for i, old in enumerate(every) if old.command == fresh.command] or [len(every)]
    every[places[0] : places[0] + 1] = [fresh]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(_lines(every), encoding="utf-8")


def _lines(every: Sequence[Result]) -> str:
    """JSON with a line for each row, so that a difference shows what has changed."""

    def table(shown: Table) -> str:
        rows = ",\n".join(f"   {json.dumps(row, ensure_ascii=False)}" for row in shown.rows)
        return f'  {{"heading": {json.dumps(shown.heading, ensure_ascii=False)}, "rows": [\n{rows}]}}'

    def result(one: Result) -> str:
        command, tables = json.dumps(one.command, ensure_ascii=False), ",\n".join(map(table, one.tables))
        return f' {{"command": {command}, "tables": [\n{tables}]}}'

    return "[\n" + ",\n".join(map(result, every)) + "\n]\n"
