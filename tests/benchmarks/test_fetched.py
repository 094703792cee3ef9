"""The measurement of what fetches elsewhere are worth, on three small repositories."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import msgspec
import numpy as np
import pytest

from app.settings import MeaningSettings, Settings
from benchmarks.code import repositories

if find_spec("mcp") is None:
    pytest.skip("the extra `mcp` is not installed", allow_module_level=True)

from app.following.indexing import update_index
from app.paths import Paths
from benchmarks.fetched import HABITS, Habit, checkouts, choice, measure, namesakes, report

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "knoll", "larch", "marsh")
NAMES = ("first", "second", "third")
SETTINGS = msgspec.structs.replace(Settings(), meaning=MeaningSettings(enabled=False))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each has a guide for each source file that says its words more often."""
    base = tmp_path_factory.mktemp("repositories").resolve()
    (base / "annotations").mkdir()
    for name in NAMES:
        tree, asked = base / "trees" / name, []
        tree.mkdir(parents=True)
        for i, word in enumerate(WORDS):
            other = WORDS[(i + 5) % len(WORDS)]
            (tree / f"part{i}.py").write_text(f"# {word} {other}\n" * 3 + "z = 3\n" * 11)
            (tree / f"guide{i}.md").write_text(f"The {word} has {other}. " * 4)
            asked.append({"query": f"{word} {other}", "relevant": [f"part{i}.py"], "category": "semantic"})
        (base / "annotations" / f"{name}.json").write_text(json.dumps(asked))
    (base / "repos.json").write_text(json.dumps([{"name": name} for name in NAMES]))
    return base


def test_what_an_assistant_wants_elsewhere_comes_first_here_too(folder: Path, tmp_path: Path) -> None:
    """Its fetches of source code raise it above guides where it never fetched; those at random change nothing."""
    places = list(checkouts(folder, list(repositories(folder, SETTINGS)), of_tests=False))
    paths = Paths(tmp_path / "config", tmp_path / "data")
    update_index(SETTINGS, paths, roots=tuple(str(place.folder) for place in places), holder="test")
    measured = measure(places, paths, SETTINGS, [1], lambda others: None)
    for (own,) in measured.values():
        assert own == pytest.approx([1 / np.log2(3), 1, 1, 1 / np.log2(3)])
    (table,) = report(places, measured, is_aimed_at=True)
    gain = f"{100 * (1 - 1 / np.log2(3)):+.1f}"
    assert table.rows[0] == ("first", "12", "0.631", gain, gain, "+0.0")
    assert table.rows[3:5] == [
        ("mean of 3: with room", "", "0.631", gain, gain, "+0.0"),
        ("mean of 1: with room, left out", "", "0.631", gain, gain, "+0.0"),
    ]
    assert [row[-3:] for row in table.rows[-2:]] == [("met", "met", ""), ("met", "met", "met")]


def test_how_an_assistant_fetches() -> None:
    """The first that it wants, or nothing; with mistakes another one as often as it is said; at random any."""
    rng, values = np.random.default_rng(0), np.array([0.0, 0, 2, 1])
    assert choice(values, HABITS[0], rng) == 2
    assert choice(values * 0, HABITS[0], rng) is None
    drawn = [choice(values, Habit("", 0.3), rng) for _ in range(2_000)]
    assert set(drawn) == {0, 1, 2}
    assert np.mean([one != 2 for one in drawn]) == pytest.approx(0.3, abs=0.04)
    assert {choice(values, HABITS[2], rng) for _ in range(99)} == {0, 1, 2, 3}
    assert choice(np.zeros(0), HABITS[2], rng) is None


def test_tests_are_known_by_the_names_of_files() -> None:
    """In the ways of several languages; neither the file itself nor a test of another one."""
    tests = ["test/spec_request.rb", "a/request_test.go", "src/RequestTests.swift", "tests/request.py"]
    assert namesakes([*tests, "lib/request.rb", "test/spec_response.rb"], ["lib/request.rb"]) == tests
