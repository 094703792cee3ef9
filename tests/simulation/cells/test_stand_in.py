"""Another set in place of one that is not here: which, when not, and how it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation.cells.preset import Expect, ExpectedValue, Preset, decode_preset, preset_tables
from simulation.cells.preset_tables import real_data, stand_in, with_stand_in
from simulation.data.known_datasets import DATASETS, substitute
from simulation.errors import PresetError
from tests.simulation.data.written_folds import write_folds


def study(dataset: str) -> Preset:
    """A study whose paper printed a number."""
    tables = {"data": {"dataset": dataset}, "method": {"name": "fpdgd"}}
    number = {"metric": "offline_ndcg", "value": 0.5}
    return decode_preset({**tables, "expect": {"values": [number]}}, source="study")


def test_every_stand_in_is_an_imitation_that_can_always_be_had() -> None:
    """Those of one set end with one that is generated; all say of themselves that they are not the real thing."""
    for info in DATASETS.values():
        assert all(DATASETS[name].sample for name in info.stand_ins)
        assert not info.stand_ins or DATASETS[info.stand_ins[-1]].layout == "generated"


def test_without_data_a_made_up_set_runs_and_nothing_is_compared() -> None:
    """The preset names both sets, keeps the rest, and leaves the paper's numbers out; it reads back as it is."""
    changed = with_stand_in(study("mslr"), None, insist=False)
    assert (changed.data.dataset, changed.data.in_place_of) == ("synthetic", "mslr")
    assert changed.expect == Expect()
    assert changed.method == study("mslr").method
    assert with_stand_in(decode_preset(preset_tables(changed), source="again"), None, insist=False) == changed
    assert stand_in(changed.data) == "NOT MSLR-WEB10K: synthetic, made up, shaped like MSLR"
    assert DATASETS["mslr"].page in real_data(changed.data)
    assert "--data DIR with MSLR-WEB10K" in real_data(changed.data)


def test_a_sample_of_the_real_set_is_preferred(tmp_path: Path) -> None:
    """It is found below the folder of data and as that folder, where a person says that the data are there too."""
    write_folds(tmp_path / "MSLR-sample", 1)
    for root in (tmp_path, tmp_path / "MSLR-sample"):
        for insist in (False, True):
            assert with_stand_in(study("mslr"), root, insist=insist).data.dataset == "mslr-sample"
    assert substitute("mslr", tmp_path) == "mslr-sample"


def test_nothing_made_up_runs_where_a_person_says_the_data_are(tmp_path: Path) -> None:
    """A slip in --data is an error further on, never a study of something else."""
    assert with_stand_in(study("mq2007"), tmp_path, insist=True) == study("mq2007")
    assert with_stand_in(study("mq2007"), tmp_path, insist=False).data.dataset == "synthetic-mq2007"


def test_what_is_here_or_has_no_stand_in_stays(tmp_path: Path) -> None:
    """The real set, a made-up one, a path, and a set of which nothing is made up."""
    write_folds(tmp_path / "MQ2007", 1)
    for name in ("mq2007", "synthetic", "mq2008", str(tmp_path / "MQ2007")):
        kept = with_stand_in(study(name), tmp_path, insist=False)
        assert kept == study(name)
        assert stand_in(kept.data) == real_data(kept.data) == ""


def test_a_preset_may_name_what_its_data_are_not() -> None:
    """Then, too, nothing is compared with the paper; a name that is no data set is refused."""
    tables = preset_tables(study("mq2008"))
    tables["data"]["in_place_of"] = "mq2007"
    changed = with_stand_in(decode_preset(tables, source="study"), None, insist=False)
    assert changed.expect.values == ()
    assert stand_in(changed.data).startswith("NOT LETOR 4.0 MQ2007: mq2008, LETOR 4.0 MQ2008")
    tables["data"]["in_place_of"] = "msrl"
    with pytest.raises(PresetError, match=r"data\.in_place_of: no data set 'msrl'; there are mslr, "):
        with_stand_in(decode_preset(tables, source="study"), None, insist=False)


def test_numbers_of_the_paper_stay_where_the_real_set_is() -> None:
    """Nothing is lost without need."""
    assert with_stand_in(study("mq2008"), None, insist=False).expect.values == (
        ExpectedValue(metric="offline_ndcg", value=0.5),
    )
