"""Presets: strict TOML, sweeps into cells, options over presets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from msgspec import Struct
from msgspec.structs import fields

from simulation.cells.cell import method_choice
from simulation.cells.preset import Preset, decode_preset, preset_tables
from simulation.cells.preset_tables import load_tables, parse_tagged, preset_names
from simulation.errors import PresetError

SMALL: dict[str, Any] = {"data": {"dataset": "sample", "folds": [1]}, "method": {"name": "fpdgd"}}


def preset(**tables: Any) -> Preset:
    return decode_preset({**SMALL, **tables}, source="p.toml")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"dta": {}}, "dta: there is no such key; there are data, "),
        ({"data": {"dataset": "x", "fold": 1}}, "data.fold: there is no such key; there are dataset, folds, "),
        ({"data": {}}, "data.dataset: missing"),
        ({"data": {"dataset": "x", "folds": [1, 0]}}, r"data.folds\[...\]|data.folds\[1\]: expected int >= 1"),
        ({"federation": {"rounds": "ten"}}, "federation.rounds: expected int, got str"),
        ({"federation": {"rounds": -3}}, "federation.rounds: expected int >= 1, got -3"),
        ({"users": {"table": "thessis"}}, "users.table: 'thessis' is none of thesis, intents"),
        ({"data": {"dataset": "sample", "folds": 1}}, r"data.folds: expected str \| array, got int"),
        ({"expect": {"values": [{"metric": "ndcg", "value": 1}]}}, "metric: 'ndcg' is none of offline_ndcg"),
        ({"seeds": 0}, "seeds"),
    ],
)
def test_an_error_names_the_source_and_the_key(tables: Mapping[str, Any], message: str) -> None:
    """Whatever does not fit is refused with its dotted place and what would have been right."""
    with pytest.raises(PresetError, match=f"^p.toml: .*({message})"):
        decode_preset({**SMALL, **tables}, source="p.toml")


def tables_below(table: type[Struct], *above: str) -> Iterator[tuple[str, ...]]:
    for field in fields(table):
        for one in () if get_origin(field.type) is tuple else get_args(field.type) or (field.type,):
            if isinstance(one, type) and issubclass(one, Struct):
                yield (*above, field.name)
                yield from tables_below(one, *above, field.name)


@pytest.mark.parametrize("place", tables_below(Preset))
def test_no_table_takes_an_unknown_key(place: tuple[str, ...]) -> None:
    """A misspelt key is an error wherever it stands."""
    tables: dict[str, Any] = {"klicks": 1}
    for name in reversed(place):
        tables = {name: tables}
    with pytest.raises(PresetError, match=rf"{'.'.join(place)}\.klicks: there is no such key"):
        preset(**tables)


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


def test_privacy_in_one_word_or_in_parts() -> None:
    """The first word is the mechanism, the rest its settings."""
    table = {"mechanism": "gaussian", "clip": 1, "noise_multiplier": 2.5}
    assert parse_tagged(["gaussian:clip=1,noise_multiplier=2.5"], tag="mechanism") == table
    assert parse_tagged(["gaussian", "clip=1", "noise_multiplier=2.5"], tag="mechanism") == table


def test_a_preset_like_another_changes_what_it_names(tmp_path: Path) -> None:
    """Table by table, through several; values, lists and whole sweeps of the nearest one count."""
    base, middle, top = (tmp_path / f"{name}.toml" for name in ("base", "middle", "top"))
    base.write_text('seeds = 5\n[data]\ndataset = "mslr"\nk = 5\n[sweep]\n"users.k" = [1, 2]\n')
    middle.write_text(f'like = "{base}"\n[data]\ndataset = "mq2008"\n[federation]\nclients = 3\n')
    top.write_text(f'seeds = 1\nlike = "{middle}"\n[sweep]\n"users.k" = [3]\n')
    assert load_tables(str(top)) == {
        "seeds": 1,
        "data": {"dataset": "mq2008", "k": 5},
        "federation": {"clients": 3},
        "sweep": {"users.k": [3]},
    }


def test_presets_like_each_other_are_refused(tmp_path: Path) -> None:
    """A circle is named; so is another that is not there."""
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text(f'like = "{two}"\n')
    two.write_text(f'like = "{one}"\n')
    with pytest.raises(PresetError, match=r"like: .*one.toml is like .*two.toml is like .*one.toml"):
        load_tables(str(one))
    two.write_text('like = "nowhere"\n')
    with pytest.raises(PresetError, match="no preset 'nowhere'"):
        load_tables(str(two))
