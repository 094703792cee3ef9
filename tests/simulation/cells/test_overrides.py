"""Options over presets."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.cells.cell import assign, assignments
from simulation.cells.preset_tables import overridden, parse_assignment, parse_numbers, parse_values
from simulation.errors import PresetError

SMALL: dict[str, Any] = {"data": {"dataset": "sample", "folds": [1]}, "method": {"name": "fpdgd"}}


def test_an_option_replaces_a_value_and_what_the_preset_swept() -> None:
    """One value is fixed, several are swept, and the preset's own sweep of that key is gone."""
    tables = {**SMALL, "sweep": {"users.clicks": ["perfect", "pbm"], "users": {"k": [5, 10]}}}
    changed = overridden(tables, {"users.clicks": ["poison"], "federation.clients": [5, 10], "users.k": [3]})
    assert changed["users"] == {"clicks": "poison", "k": 3}
    assert changed["sweep"] == {"federation.clients": [5, 10]}
    assert tables["sweep"] == {"users.clicks": ["perfect", "pbm"], "users": {"k": [5, 10]}}


def test_an_option_leaves_groups_and_method_tables_without_its_key() -> None:
    """The option has the last word there too."""
    tables = {
        **SMALL,
        "sweep": {
            "together": [{"users.k": [1, 2], "data.k": [1, 2]}, {"federation.local": [3]}],
            "method": [{"name": "a", "learning_rate": 1}, {"name": "b"}],
        },
    }
    changed = overridden(tables, {"users.k": [4], "federation.local": [9], "method.learning_rate": [0.5]})
    assert changed["sweep"] == {"together": [{"data.k": [1, 2]}], "method": [{"name": "a"}, {"name": "b"}]}


def test_an_option_has_the_last_word_over_swept_tables() -> None:
    """Of a key inside tables that the preset sweeps; where a word is swept in the table's place, one line says so."""
    partitions = [{"kind": "grades"}, {"kind": "grades", "divide": "overlap"}]
    changed = overridden({**SMALL, "sweep": {"federation.partition": partitions}}, {"federation.partition.each": [2]})
    found = [assign(changed, chosen)["federation"]["partition"] for chosen in assignments(changed["sweep"])]
    assert found == [{"each": 2, **partition} for partition in partitions]
    words = overridden({**SMALL, "sweep": {"users.clicks": ["perfect"]}}, {"users.clicks.model": ["dbn"]})
    with pytest.raises(PresetError, match=r"users\.clicks\.model: clicks is a value"):
        assign(words, *assignments(words["sweep"]))


def test_another_method_begins_with_its_own_defaults() -> None:
    """The settings of one method say nothing about another; the ranker stays."""
    tables = {**SMALL, "method": {"name": "fpdgd", "learning_rate": 3.0, "ranker": "neural"}}
    same = overridden(tables, {"method.name": ["fpdgd"]})
    other = overridden({**tables, "sweep": {"method.learning_rate": [1]}}, {"method.name": ["foltr-es"]})
    several = overridden(tables, {"method.name": ["fpdgd", "pdgd"], "method.learning_rate": [0.2]})
    assert same["method"] == tables["method"]
    assert other["method"] == {"ranker": "neural", "name": "foltr-es"}
    assert other["sweep"] == {}
    assert several["method"] == {"ranker": "neural", "learning_rate": 0.2}
    assert several["sweep"] == {"method.name": ["fpdgd", "pdgd"]}


def test_the_papers_numbers_stay_only_beside_the_papers_study() -> None:
    """More seeds leave [expect] in place; other folds or another setting take it out."""
    tables = {**SMALL, "expect": {"note": "n"}, "paper": {"title": "T", "note": "So."}}
    assert "expect" in overridden(tables, {"seeds": [5], "federation.evaluate_every": [10]})
    assert "expect" not in overridden(tables, {"data.folds": [[2]]})
    assert "expect" in overridden(tables, {"data.dataset": ["sample"], "method.name": ["fpdgd"]})
    other = overridden(tables, {"federation.rounds": [5]})
    assert "expect" not in other
    assert other["paper"] == {"title": "T, changed by options", "note": "Of the preset before options: So."}


def test_values_are_read_as_toml_or_as_words() -> None:
    """Numbers are numbers, words need no quotes, brackets keep a list together."""
    assert parse_values("1,2.5") == [1, 2.5]
    assert parse_values("perfect, pbm") == ["perfect", "pbm"]
    assert parse_values("0.1,none") == [0.1, "none"]
    assert parse_values(".5,.25,./file,.hidden") == [0.5, 0.25, "./file", ".hidden"]
    assert parse_values("[1, 2]") == [[1, 2]]
    assert parse_assignment("a.b=true") == ("a.b", [True])
    for wrong in ("a.b", "=1", "a="):
        with pytest.raises(PresetError, match="KEY=VALUE"):
            parse_assignment(wrong)


def test_ranges_of_numbers() -> None:
    """Both ends belong to a range."""
    assert parse_numbers("1-3,7") == [1, 2, 3, 7]
    for wrong in ("a", "1-", "-2", "1,,2"):
        with pytest.raises(PresetError, match="wanted numbers"):
            parse_numbers(wrong)
