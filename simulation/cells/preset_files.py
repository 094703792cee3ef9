"""Where presets are: those that come with the program, by PAPER/TABLE, and files of one's own; `like` joins them.

A publication has a folder in `publications`, which says what it did and found; `simulation/presets` holds ours as well:

    NAME.toml           a preset
    variations.toml     more presets, each a table [NAME], that are `like` another but for little
    NAME.numbers.csv    the numbers that the paper prints: [[expect.values]] of the preset of that name. A column is a
                        metric, another key of an expected value, or a swept key; an empty place says nothing
    NAME.curves.csv     its curves: [[expect.curves]], one a line, its points in columns named by where they are
    NAME.claims.csv     its statements of who is better (simulation.report.paper_claims)
"""

from __future__ import annotations

import copy
import csv
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

from simulation.cells.preset import ExpectedCurve, ExpectedValue, Metric
from simulation.errors import PresetError

PUBLICATIONS = (Path(__file__).parents[2] / "publications", Path(__file__).parents[1] / "presets")
"""beside the package, in a checkout as where it is installed; and in it"""
VARIATIONS = "variations"


def load_tables(name: str) -> dict[str, Any]:
    """The tables of a preset by name (`quick/fpdgd`) or by the path of a TOML file; PresetError when there is none.

    Where it is `like` another one, those of that one with its own keys in place, table by table.
    """
    tables, seen = _read_tables(name), [name]
    while "like" in tables:
        other = str(tables.pop("like"))
        if other in seen:
            raise PresetError(f"{name}: like: {' is like '.join([*seen, other])}")
        seen.append(other)
        tables = _laid_over(_read_tables(other), tables)
    return tables


def preset_names() -> list[str]:
    """The presets that come with the program, as PAPER/TABLE."""
    return sorted(
        f"{paper.name}/{name}" for place in PUBLICATIONS for paper in place.iterdir() for name in _names(paper)
    )


def publication_file(name: str) -> Path:
    """A file of a publication, as PAPER/FILE; PresetError when there is none."""
    for place in PUBLICATIONS:
        if (place / name).is_file():
            return place / name
    raise PresetError(f"no publication has a file {name!r}")


def parse_value(word: str) -> Any:
    """A number, a truth or a list as TOML has it; any other word is itself."""
    try:
        return tomllib.loads(f"value = {word}")["value"]
    except tomllib.TOMLDecodeError:
        return word


def _laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both tables in one; where both have a value, that of `above`."""
    both = {key for key, value in above.items() if isinstance(value, dict) and isinstance(below.get(key), dict)}
    return {**below, **above, **{key: _laid_over(below[key], above[key]) for key in both}}


def _names(paper: Path) -> list[str]:
    """The presets of one folder."""
    files = [path.stem for path in paper.glob("*.toml") if path.stem != VARIATIONS]
    return [*files, *_toml(paper / f"{VARIATIONS}.toml")]


def _read_tables(name: str) -> dict[str, Any]:
    """What one preset says by itself, with the numbers beside it."""
    paper, _, preset = name.rpartition("/")
    for place in PUBLICATIONS:
        if paper and preset in _names(place / paper):
            own = _toml(place / f"{name}.toml") or _toml(place / paper / f"{VARIATIONS}.toml")[preset]
            return _with_numbers(copy.deepcopy(own), place / name)
    file = Path(name).expanduser()
    if not file.is_file():
        raise PresetError(f"no preset {name!r}, and no such file; `--list` shows the presets")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PresetError(f"{name}: not TOML: {error}") from error


@cache
def _toml(file: Path) -> dict[str, Any]:
    """A file of ours, which is read once; {} where there is none."""
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _with_numbers(tables: dict[str, Any], path: Path) -> dict[str, Any]:
    """The tables with what the CSV files beside the preset at `path`, which has no ending, say of the print."""
    for key, ending, made in (("values", "numbers", _values), ("curves", "curves", _curve)):
        file = path.with_name(f"{path.name}.{ending}.csv")
        if file.is_file():
            with file.open(encoding="utf-8", newline="") as lines:
                found = [record for line in csv.DictReader(lines) for record in made(line)]
            tables.setdefault("expect", {})[key] = found
    return tables


def _values(line: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A number of each metric that the line has."""
    own, swept = _apart(line, ExpectedValue.__struct_fields__)
    metrics = {key: swept.pop(key) for key in line if key in swept and key in get_args(Metric)}
    yield from ({"metric": metric, "value": float(value), "where": swept} | own for metric, value in metrics.items())


def _curve(line: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The curve of a line."""
    own, others = _apart(line, ExpectedCurve.__struct_fields__)
    points = {int(key): others.pop(key) for key in line if key.isdecimal() and key in others}
    yield {**own, "where": others, "at": [*points], "values": [*points.values()]}


def _apart(line: dict[str, str], fields: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a line says under the names of `fields`, and the rest."""
    said = {key: parse_value(word) for key, word in line.items() if word}
    return {key: said.pop(key) for key in fields if key in said}, said
