"""A sweep's cells: what they are, their ids, what their randomness depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simulation.cells.cell import assign, assignments, expand
from simulation.cells.preset import Preset, decode_preset
from simulation.errors import PresetError

SMALL: dict[str, Any] = {"data": {"dataset": "sample", "folds": [1]}, "method": {"name": "fpdgd"}}


def preset(**tables: Any) -> Preset:
    return decode_preset({**SMALL, **tables}, source="p.toml")


def folds_of(dataset: str) -> tuple[int, ...]:
    return (1, 2, 3)


def test_cells_are_settings_times_folds_times_seeds() -> None:
    """Without a sweep: folds, then seeds; with one: each combination of values, the last key fastest."""
    assert [(c.fold, c.seed) for c in expand(preset(seeds=2), folds_of=folds_of)] == [(1, 1), (1, 2)]
    swept = preset(data={"dataset": "x"}, sweep={"users.clicks": ["perfect", "pbm"], "federation": {"clients": [5, 6]}})
    cells = expand(swept, folds_of=folds_of)
    assert len(cells) == 2 * 2 * 3
    assert [cell.settings for cell in cells[::3]] == [
        {"users.clicks": clicks, "federation.clients": clients} for clicks in ("perfect", "pbm") for clients in (5, 6)
    ]
    assert [cell.preset.federation.clients for cell in cells[::3]] == [5, 6, 5, 6]
    assert cells[0].title == "users.clicks=perfect federation.clients=5 fold=1 seed=1"


def test_the_id_of_a_cell_is_its_own_and_does_not_change() -> None:
    """Same settings, fold and seed: same id; anything else: another one; always fit for a file name."""
    cells = expand(preset(seeds=3, sweep={"method.learning_rate": [0.1, 1e-3]}), folds_of=folds_of)
    again = expand(preset(seeds=3, sweep={"method.learning_rate": [0.1, 1e-3]}), folds_of=folds_of)
    assert [cell.id for cell in cells] == [cell.id for cell in again]
    assert len({cell.id for cell in cells}) == len(cells)
    assert all(set(cell.id) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-") for cell in cells)


def test_randomness_depends_on_seed_and_fold_alone() -> None:
    """Settings share their streams (common random numbers); folds and seeds do not."""
    cells = expand(
        preset(data={"dataset": "x"}, seeds=2, sweep={"users.clicks": ["perfect", "pbm"]}), folds_of=folds_of
    )
    drawn = {(c.fold, c.seed): tuple(c.sequence().generate_state(2)) for c in cells}
    assert len(set(drawn.values())) == 3 * 2
    assert all(tuple(c.sequence().generate_state(2)) == drawn[c.fold, c.seed] for c in cells)


def test_keys_of_a_group_vary_together() -> None:
    """[[sweep.together]] pairs first with first, second with second."""
    group = {"method.privacy.epsilon": [1, 2], "method.privacy.sensitivity": [3, 5]}
    found = assignments({"together": [group], "users.clicks": ["perfect", "pbm"]})
    pairs = [{"method.privacy.epsilon": 1, "method.privacy.sensitivity": 3}]
    pairs += [{"method.privacy.epsilon": 2, "method.privacy.sensitivity": 5}]
    assert found == [{**pair, "users.clicks": clicks} for pair in pairs for clicks in ("perfect", "pbm")]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({"users.clicks": "perfect"}, "wanted a list of values"),
        ({"users.clicks": []}, "wanted a list of values"),
        ({"together": {"users.k": [1]}}, "wanted tables of lists"),
        ({"together": [{"users.k": [1, 2], "data.k": [1]}]}, "wanted lists of one length"),
        ({"together": [{"users.k": [1]}], "users.k": [2]}, '"users.k" is swept twice'),
        ({"users.klicks": ["perfect"]}, "users.klicks: there is no such key"),
        ({"users.clicks.kind": ["perfect"]}, "clicks is a value, not a table"),
        ({"method": [{"name": "a", "label": "x"}, {"name": "b", "label": "x"}]}, "label of its own"),
    ],
)
def test_a_sweep_that_does_not_fit_is_refused(sweep: Mapping[str, Any], message: str) -> None:
    """Every mistake in a sweep is found before anything runs."""
    with pytest.raises(PresetError, match=message):
        expand(preset(sweep=sweep), folds_of=folds_of)


def test_methods_are_compared_as_whole_tables() -> None:
    """A table is laid over [method]; its label, else its keys, are what the rows say."""
    swept = preset(
        method={"ranker": "neural", "hidden": 8},
        sweep={"method": [{"name": "fpdgd", "learning_rate": 0.1}, {"name": "foltr-es", "label": "ES"}, "pdgd"]},
    )
    cells = expand(swept, folds_of=folds_of)
    assert [cell.settings for cell in cells] == [
        {"method.name": "fpdgd", "method.learning_rate": 0.1},
        {"method": "ES"},
        {"method.name": "pdgd"},
    ]
    assert [(cell.method.name, cell.method.hidden) for cell in cells] == [("fpdgd", 8), ("foltr-es", 8), ("pdgd", 8)]
    assert cells[0].method.settings == {"learning_rate": 0.1}


def test_single_keys_have_the_last_word_over_tables() -> None:
    """A swept key is put into a swept table, in whatever order they stand."""
    tables = assign({"method": {}}, {"method.learning_rate": 2, "method": {"name": "a", "learning_rate": 1}})
    assert tables == {"method": {"name": "a", "learning_rate": 2}}
