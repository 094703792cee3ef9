"""Presets: strict TOML, sweeps into cells, options over presets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simulation.cell import assign, assignments, expand, method_choice
from simulation.errors import PresetError
from simulation.overrides import overridden, parse_assignment, parse_numbers, parse_tagged, parse_values
from simulation.preset import Preset, decode_preset, load_tables, preset_names, preset_tables

SMALL: dict[str, Any] = {"data": {"dataset": "sample", "folds": [1]}, "method": {"name": "fpdgd"}}


def preset(**tables: Any) -> Preset:
    return decode_preset({**SMALL, **tables}, source="p.toml")


def folds_of(dataset: str) -> tuple[int, ...]:
    return (1, 2, 3)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"dta": {}}, "dta: there is no such key; there are data, "),
        ({"data": {"dataset": "x", "fold": 1}}, "data.fold: there is no such key; there are dataset, folds, "),
        ({"data": {}}, "data.dataset: missing"),
        ({"data": {"dataset": "x", "folds": [1, 0]}}, r"data.folds\[...\]|data.folds\[1\]: expected int >= 1"),
        ({"federation": {"rounds": "ten"}}, "federation.rounds: expected int, got str"),
        ({"users": {"clicks": "pefect"}}, "users.clicks: 'pefect' is none of perfect, navigational"),
        ({"expect": {"values": [{"metric": "ndcg", "value": 1}]}}, "metric: 'ndcg' is none of offline_ndcg"),
        ({"seeds": 0}, "seeds"),
    ],
)
def test_an_error_names_the_source_and_the_key(tables: Mapping[str, Any], message: str) -> None:
    """Whatever does not fit is refused with its dotted place and what would have been right."""
    with pytest.raises(PresetError, match=f"^p.toml: .*({message})"):
        decode_preset({**SMALL, **tables}, source="p.toml")


def test_a_preset_written_out_reads_as_itself() -> None:
    """The resolved tables are complete and mean the same preset."""
    whole = preset(
        seeds=[3, 5],
        sweep={"users.clicks": ["perfect", "pbm"]},
        expect={"values": [{"metric": "offline_ndcg", "value": 0.7, "where": {"users.clicks": "pbm"}, "sd": 0.01}]},
    )
    tables = preset_tables(whole)
    assert decode_preset(tables, source="again") == whole
    assert tables["federation"]["clients"] == 10
    assert "n" not in tables["expect"]["values"][0]


def test_seeds_are_a_number_or_a_list() -> None:
    """`seeds = 3` is 1, 2, 3."""
    assert preset(seeds=3).seed_list == (1, 2, 3)
    assert preset(seeds=[7, 9]).seed_list == (7, 9)


def test_results_come_twenty_times_unless_told() -> None:
    """evaluate_every = 0 is a twentieth of the rounds, never less than one round."""
    intervals = [preset(federation={"rounds": r}).federation.interval for r in (1, 19, 1000)]
    assert intervals == [1, 1, 1000 // 20]
    assert preset(federation={"rounds": 1000, "evaluate_every": 7}).federation.interval == 7


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


def test_the_method_table_is_checked() -> None:
    """[method] needs a name, and its ranker's size is a number."""
    with pytest.raises(PresetError, match=r"method\.name: missing"):
        method_choice(preset(method={}))
    with pytest.raises(PresetError, match=r"method\.hidden: expected int >= 1"):
        method_choice(preset(method={"name": "fpdgd", "hidden": 0}))


def test_presets_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    """The packaged names are listed; anything else is a file; neither is an error that says how to see them."""
    assert "quick/fpdgd" in preset_names()
    assert load_tables("quick/fpdgd")["method"]["name"] == "fpdgd"
    own = tmp_path / "own.toml"
    own.write_text("[data]\ndataset = 'sample'\n", encoding="utf-8")
    assert load_tables(str(own)) == {"data": {"dataset": "sample"}}
    own.write_text("[data\n", encoding="utf-8")
    with pytest.raises(PresetError, match="not TOML"):
        load_tables(str(own))
    with pytest.raises(PresetError, match="--list"):
        load_tables("no/such")


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
    """More seeds or fewer folds leave [expect] in place; another setting takes it out."""
    tables = {**SMALL, "expect": {"note": "n"}, "paper": {"title": "T"}}
    assert "expect" in overridden(tables, {"seeds": [5], "data.folds": [[1]], "federation.evaluate_every": [10]})
    assert "expect" in overridden(tables, {"data.dataset": ["sample"], "method.name": ["fpdgd"]})
    other = overridden(tables, {"federation.rounds": [5]})
    assert "expect" not in other
    assert other["paper"]["title"] == "T, changed by options"


def test_values_are_read_as_toml_or_as_words() -> None:
    """Numbers are numbers, words need no quotes, brackets keep a list together."""
    assert parse_values("1,2.5") == [1, 2.5]
    assert parse_values("perfect, pbm") == ["perfect", "pbm"]
    assert parse_values("0.1,none") == [0.1, "none"]
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


def test_privacy_in_one_word_or_in_parts() -> None:
    """The first word is the mechanism, the rest its settings."""
    table = {"mechanism": "gaussian", "clip": 1, "noise_multiplier": 2.5}
    assert parse_tagged(["gaussian:clip=1,noise_multiplier=2.5"], tag="mechanism") == table
    assert parse_tagged(["gaussian", "clip=1", "noise_multiplier=2.5"], tag="mechanism") == table
