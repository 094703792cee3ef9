"""Where presets are: those that come with the program, by PAPER/TABLE, and files of one's own; `like` joins them.

A publication has a folder in `publications`, which says what it did and found; `simulation/presets` holds ours as well:

    NAME.toml           a preset
    variations.toml     more presets, each a table [NAME], that are `like` another but for little; those of a group
                        [[alike]] stand in it line by line, and share what else it says
    NAME.numbers.csv    the numbers that the paper prints: [[expect.values]] of the preset of that name. A column is a
                        metric, another key of an expected value, or a swept key; an empty place says nothing
    NAME.curves.csv     its curves: [[expect.curves]], one a line, its points in columns named by where they are
    NAME.claims.csv     its statements of who is better (simulation.report.paper_claims)

Before it runs a preset may change: by options of the command, and on data in the place of those that are not here. One
value of an option replaces what is there, several values become a sweep. Sets that may not be passed on have stand-ins
(`DatasetInfo.stand_ins`): a small part of them that the user has, else one of our own making in their shape. Numbers on
a stand-in say nothing about the set, so they are never put beside a paper's.
"""

from __future__ import annotations

import copy
import csv
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from simulation.cells.cell import TOGETHER, flat, set_key
from simulation.cells.preset import Data, Expect, ExpectedCurve, ExpectedValue, Preset, decode_preset
from simulation.data.known_datasets import DATASETS, is_here, substitute
from simulation.errors import PresetError
from simulation.run_folder import METRICS

PUBLICATIONS = (Path(__file__).parents[2] / "publications", Path(__file__).parents[1] / "presets")
"""beside the package, in a checkout and when installed; and inside it"""
VARIATIONS, ALIKE = "variations", "alike"
FOR_PEOPLE = ("paper.", "expect.")


def load_tables(name: str) -> dict[str, Any]:
    """The tables of a preset by name (`quick/fpdgd`) or by the path of a TOML file; PresetError when there is none.

    If it is `like` another, that one's tables with its own keys in place; printed numbers only if it is the same study.
    """
    tables, seen = _read_tables(name), [name]
    while "like" in tables:
        other = str(tables.pop("like"))
        if other in seen:
            raise PresetError(f"{name}: like: {' is like '.join([*seen, other])}")
        seen.append(other)
        below = _read_tables(other)
        same = {*REPETITION, *(key for key, value in flat(tables) if _says_so(below, key, [value]))}
        if any(key not in same and not key.startswith(FOR_PEOPLE) for key, _ in flat(tables)):
            for numbers in ("values", "curves"):
                below.get("expect", {}).pop(numbers, None)
        tables = _laid_over(below, tables)
    return tables


def named_preset(name: str) -> Preset:
    """The preset of that name, or in that file; PresetError where there is none, or it cannot be one."""
    return decode_preset(load_tables(name), source=name)


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
    """A number, a truth or a list as TOML has it, or .5 for 0.5; any other word is itself."""
    try:
        return tomllib.loads(f"value = {word}")["value"]
    except ValueError:  # also a number of thousands of digits
        return float(word) if word[:1] == "." and word[1:].isdecimal() else word


def _laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both tables in one; where both have a value, that of `above`."""
    both = {key for key, value in above.items() if isinstance(value, dict) and isinstance(below.get(key), dict)}
    return {**below, **above, **{key: _laid_over(below[key], above[key]) for key in both}}


def _names(paper: Path) -> list[str]:
    """The presets of one folder."""
    files = [path.stem for path in paper.glob("*.toml") if path.stem != VARIATIONS]
    return [*files, *_variations(paper)]


@cache
def _variations(paper: Path) -> dict[str, dict[str, Any]]:
    """What the presets of a folder's `variations.toml` say, with what those that are alike share."""
    tables = dict(_toml(paper / f"{VARIATIONS}.toml"))
    for group in tables.pop(ALIKE, []):
        own = {name: said for name, said in group.items() if isinstance(said, dict) and "like" in said}
        shared = {key: said for key, said in group.items() if key not in own}
        tables |= {name: _laid_over(shared, said) for name, said in own.items()}
    return tables


def _read_tables(name: str) -> dict[str, Any]:
    """What one preset says by itself, with the numbers beside it."""
    paper, _, preset = name.rpartition("/")
    for place in PUBLICATIONS:
        if paper and preset in _names(place / paper):
            own = _toml(place / f"{name}.toml") or _variations(place / paper)[preset]
            return _with_numbers(copy.deepcopy(own), place / name)
    file = Path(os.path.expanduser(name))
    if not file.is_file():
        raise PresetError(f"no preset {name!r}, and no such file; `--list` shows the presets")
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:  # TOML's and Unicode's errors are ValueErrors
        raise PresetError(f"{name}: not TOML: {error}") from error
    brought = tables.get("with", [])
    return {**tables, "with": absolute(brought, file.parent)} if isinstance(brought, list) and brought else tables


def absolute(names: Sequence[str], folder: Path) -> list[str]:
    """Files by their whole path, whatever folder a run goes on in; names of packages as they are."""
    return [str((folder / name).absolute()) if (folder / name).is_file() else str(name) for name in names]


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
    metrics = {key: swept.pop(key) for key in line if key in swept and key in METRICS}
    yield from ({"metric": metric, "value": float(value), "where": swept} | own for metric, value in metrics.items())


def _curve(line: dict[str, str]) -> Iterator[dict[str, Any]]:
    own, others = _apart(line, ExpectedCurve.__struct_fields__)
    points = {int(key): others.pop(key) for key in line if key.isdecimal() and key in others}
    yield {**own, "where": others, "at": [*points], "values": [*points.values()]}


def _apart(line: dict[str, str], fields: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a line says under the names of `fields`, and the rest."""
    said = {key: parse_value(word) for key, word in line.items() if word}
    return {key: said.pop(key) for key in fields if key in said}, said


Overrides = dict[str, list[Any]]
"""by dotted key the values to try; a list is one value where the key takes a list, as data.folds does"""

REPETITION = ("seeds", "with", "federation.evaluate_every", "merging.split.feature")
"""keys that change how often and how closely one looks, not what is looked at; the last is a fact about the files.
Folds are not among them: they differ more than methods do, so a mean of five does not stand for one of two"""


NUMBERS = ("seeds", "data.folds")
"""keys whose list is one value: it says which, and is not tried number by number"""


def overridden(tables: Mapping[str, Any], overrides: Overrides) -> dict[str, Any]:
    """A copy of a preset's tables with the options in place; the preset no longer sweeps what an option names.

    Another method begins with its own defaults. If the study differs from the preset's, [expect] is left out: the
    paper's numbers are not about it.
    """
    changed = copy.deepcopy(dict(tables))
    sweep = dict(flat(changed.get("sweep", {}), keep=(TOGETHER,)))
    sweep[TOGETHER] = [dict(flat(group)) for group in sweep.get(TOGETHER, [])]
    if "method.name" in overrides:
        _change_method(changed, sweep, overrides["method.name"])
    for key, values in overrides.items():
        _drop(sweep, key)
        if key in NUMBERS and len(values) > 1:
            set_key(changed, key, values)
        elif len(values) > 1 or _below_swept(sweep, key):
            sweep[key] = values
        else:
            set_key(changed, key, values[0])
    changed["sweep"] = {key: values for key, values in sweep.items() if values}
    if any(key not in REPETITION and not _says_so(tables, key, values) for key, values in overrides.items()):
        changed.pop("expect", None)
        paper = changed.get("paper", {})
        said = {"title": "{}, changed by options", "note": "Of the preset before options: {}"}
        changed["paper"] = paper | {key: form.format(paper[key]) for key, form in said.items() if paper.get(key)}
    return changed


def parse_values(text: str) -> list[Any]:
    """`1,2` or `perfect,pbm` or `[1, 2]` as the values to try; a word without quotes is itself."""
    try:
        return list(tomllib.loads(f"values = [{text}]")["values"])
    except ValueError:
        return [parse_value(word.strip()) for word in text.split(",")]


def parse_assignment(text: str) -> tuple[str, list[Any]]:
    """`federation.rounds=200` as key and values; PresetError for anything else."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise PresetError(f"--set: wanted KEY=VALUE, got {text!r}")
    return key.strip(), parse_values(value.strip())


def parse_numbers(text: str) -> list[int]:
    """`3`, `1,4` or `1-5` as numbers, both ends included; PresetError for anything else."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise PresetError(f"wanted numbers such as 3 or 1,4 or 1-5, got {text!r}")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def parse_tagged(texts: Sequence[str], *, tag: str) -> dict[str, Any]:
    """`gaussian:clip=1,noise_multiplier=2`, or its parts one by one, as a table; `tag` is the key of the first word."""
    table: dict[str, Any] = {}
    for text in texts:
        for part in text.replace(":", ",", 1).split(","):
            key, equals, value = part.partition("=")
            table[key.strip() if equals else tag] = parse_value(value.strip() if equals else key.strip())
    return table


def _says_so(tables: Mapping[str, Any], key: str, values: Sequence[Any]) -> bool:
    """Whether the preset holds that one value already."""
    return list(values) == [dict(flat(tables)).get(key)] and key not in dict(flat(tables.get("sweep", {})))


def _change_method(tables: dict[str, Any], sweep: dict[str, Any], names: Sequence[str]) -> None:
    """Keep the ranker; keep the other settings only when the method stays the same."""
    method = tables.get("method", {})
    if list(names) != [method.get("name")]:
        tables["method"] = {key: method[key] for key in ("ranker", "hidden") if key in method}
        for key in [key for key in sweep if key.startswith("method.")]:
            del sweep[key]
    sweep.pop("method", None)


def _below_swept(sweep: dict[str, Any], key: str) -> bool:
    """Whether whole tables are swept that hold the key: it must have the last word over each."""
    tables = {swept for table in (sweep, *sweep[TOGETHER]) for swept in table} - {"method", TOGETHER}
    return any(key.startswith(f"{swept}.") for swept in tables)


def _drop(sweep: dict[str, Any], key: str) -> None:
    """Take a key and what lies below it out of the sweep: axes, columns of groups, entries of whole method tables."""
    for table in (sweep, *sweep[TOGETHER]):
        for swept in [swept for swept in table if swept == key or swept.startswith(f"{key}.")]:
            del table[swept]
    sweep[TOGETHER] = [group for group in sweep[TOGETHER] if group]
    for table in sweep.get("method", []):
        if isinstance(table, dict):
            table.pop(key.removeprefix("method."), None)


def with_stand_in(preset: Preset, root: Path | None, *, insist: bool) -> Preset:
    """The preset, on the first stand-in that is here where its data set is not; [expect] is left out then.

    insist  the user has just named `root` as the place of the data: nothing made up runs in their place, which a
            slip in the path would look like; a part of the real set does
    Where nothing stands in, the preset as it is.
    """
    if named := preset.data.in_place_of:
        if named not in DATASETS:
            raise PresetError(f"data.in_place_of: no data set {named!r}; there are {', '.join(DATASETS)}")
        return msgspec.structs.replace(preset, expect=Expect())
    wanted = preset.data.dataset
    name = "" if wanted not in DATASETS or is_here(wanted, root) else substitute(wanted, root)
    if not name or (insist and DATASETS[name].layout == "generated"):
        return preset
    data = msgspec.structs.replace(preset.data, dataset=name, in_place_of=wanted)
    return msgspec.structs.replace(preset, data=data, expect=Expect())


def stand_in(data: Data) -> str:
    """`NOT MSLR-WEB10K: synthetic, made up, shaped like MSLR`, for titles and notes; "" where nothing stands in."""
    if not data.in_place_of:
        return ""
    runs = DATASETS.get(data.dataset)
    what = f"{data.dataset}, {runs.title.partition(';')[0]}" if runs else "other data"
    return f"NOT {DATASETS[data.in_place_of].title.partition(',')[0]}: {what}"


def real_data(data: Data) -> str:
    """How the set that was asked for is to be had; "" where nothing stands in."""
    if not data.in_place_of:
        return ""
    info = DATASETS[data.in_place_of]
    return f"the real set: from {info.page}, then --data DIR with {' or '.join(info.folders[:2])} in DIR"
