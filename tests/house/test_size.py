"""How large the house is: files, lines, crowded folders, names that mean two things, splinters.

The numbers are ceilings. One is raised together with a line in docs/decisions/016-what-lines-bought.md that says what
was bought, and lowered with whatever was cut.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.house.test_rooms import HOUSES, ROOT, imported, rooms

ROOMS = {
    "app": (193, 31_203),
    "console": (8, 1_166),
    "indexer": (106, 21_286),
    "simulation": (90, 15_660),
    "federation_server": (54, 8_176),
    "foltr": (55, 8_038),
}
"""files and lines, at most"""
CROWDED = {}
"""folders that hold more than `FULL` files, and how many; not those of commands, which are named as they are typed"""
FULL = 20
MEDIAN = 155
"""lines of the median file, less than this"""
NAMED_TWICE = 6
"""file names that more than one file has"""
SPLINTERS = 0
"""files of less than `SHORT` lines that one other file imports"""
SHORT = 60


def files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def lines(path: Path) -> int:
    return len(path.read_bytes().splitlines())


@pytest.mark.parametrize("room", HOUSES)
def test_a_room_is_no_larger_than_it_may_be(room: str) -> None:
    """In files and in lines."""
    n_files, n_lines = ROOMS[room]
    assert len(files(room)) <= n_files
    assert sum(map(lines, files(room))) <= n_lines


def test_the_median_file_stays_short() -> None:
    """Files are cut where ideas end: rooms do not shrink by joining two of them."""
    lengths = sorted(lines(path) for room in HOUSES for path in files(room))
    assert lengths[len(lengths) // 2] < MEDIAN


def test_no_folder_is_crowded() -> None:
    """A folder that holds more files than one looks over at once is known, and gets no fuller."""
    held = Counter(str(path.parent.relative_to(ROOT)) for room in HOUSES for path in files(room))
    full = {name: n for name, n in held.items() if n > CROWDED.get(name, FULL) and not name.endswith("/commands")}
    assert full == {}


def test_file_names_mean_one_thing() -> None:
    """But for a package's own file, and for commands, which are named as they are typed."""
    places = defaultdict(list)
    for room in HOUSES:
        for path in files(room):
            if not path.stem.startswith("__") and path.parent.name != "commands":
                places[path.stem].append(str(path.relative_to(ROOT)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert len(twice) <= NAMED_TWICE, (len(twice), twice)


def test_few_files_are_splinters() -> None:
    """A short file that one other file uses is part of it, unless a registry lists it beside its like."""
    users = Counter(name for module in rooms().values() for name in imported(module))
    splinters = [
        name
        for name in rooms()
        if users[name] == 1
        and (path := ROOT / (name.replace(".", "/") + ".py")).exists()
        and lines(path) < SHORT
        and "registry" not in {sibling.stem for sibling in path.parent.glob("*.py")}
        and "commands" not in path.parts
        and "migrations" not in path.parts
    ]
    assert len(splinters) <= SPLINTERS, (len(splinters), splinters)
