"""Where presets are, and the printed numbers beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation.cells.preset_tables import PUBLICATIONS, load_tables, parse_value, preset_names, publication_file
from simulation.errors import PresetError

BESIDE = (".numbers.csv", ".curves.csv")


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a paper with one preset."""
    monkeypatch.setattr("simulation.cells.preset_tables.PUBLICATIONS", (tmp_path,))
    folder = tmp_path / "who-2026"
    folder.mkdir()
    (folder / "table-1.toml").write_text('[data]\ndataset = "sample"\n', encoding="utf-8")
    return folder


def test_each_line_of_numbers_is_a_number_of_each_metric(paper: Path) -> None:
    """Columns are metrics, keys of an expected value and swept keys; an empty place says nothing."""
    (paper / "table-1.numbers.csv").write_text(
        "users.clicks,method.c,ranker,offline_ndcg,offline_mrr,sd,source\n"
        'perfect,4,M1,0.50,0.7,0.01,"a, b"\npbm,0.5,,,0.2,,\n',
        encoding="utf-8",
    )
    assert load_tables("who-2026/table-1")["expect"]["values"] == [
        {"metric": "offline_ndcg", "value": 0.5, "sd": 0.01, "source": "a, b",
         "where": {"users.clicks": "perfect", "method.c": 4, "ranker": "M1"}},
        {"metric": "offline_mrr", "value": 0.7, "sd": 0.01, "source": "a, b",
         "where": {"users.clicks": "perfect", "method.c": 4, "ranker": "M1"}},
        {"metric": "offline_mrr", "value": 0.2, "where": {"users.clicks": "pbm", "method.c": 0.5}},
    ]  # fmt: skip


def test_each_line_of_curves_is_a_curve(paper: Path) -> None:
    """Its points stand in columns named by where they are."""
    (paper / "table-1.curves.csv").write_text(
        "users.clicks,metric,x,10,200\nperfect,online_ndcg,rounds,0.1,0.25\n", encoding="utf-8"
    )
    assert load_tables("who-2026/table-1")["expect"]["curves"] == [
        {"metric": "online_ndcg", "x": "rounds", "where": {"users.clicks": "perfect"}, "at": [10, 200],
         "values": [0.1, 0.25]},
    ]  # fmt: skip


def test_variations_are_presets_like_others_with_numbers_of_their_own(paper: Path) -> None:
    """They are listed, laid over what they are like, and what one reader changes no other one sees."""
    (paper / "variations.toml").write_text(
        '[table-1-mq2008]\nlike = "who-2026/table-1"\ndata = { dataset = "mq2008" }\n', encoding="utf-8"
    )
    (paper / "table-1.numbers.csv").write_text("offline_ndcg\n0.5\n", encoding="utf-8")
    (paper / "table-1-mq2008.numbers.csv").write_text("offline_ndcg\n0.6\n", encoding="utf-8")
    assert preset_names() == ["who-2026/table-1", "who-2026/table-1-mq2008"]
    tables = load_tables("who-2026/table-1-mq2008")
    assert (tables["data"]["dataset"], [one["value"] for one in tables["expect"]["values"]]) == ("mq2008", [0.6])
    tables["data"]["dataset"] = "changed"
    assert load_tables("who-2026/table-1-mq2008")["data"]["dataset"] == "mq2008"


def test_presets_that_are_alike_share_what_their_group_says(paper: Path) -> None:
    """A preset's own line has the last word; what another group says is no part of it."""
    (paper / "variations.toml").write_text(
        '[[alike]]\nseeds = 7\ndata = { dataset = "mq2008", ties = "last" }\n'
        'one = { like = "who-2026/table-1" }\ntwo = { like = "who-2026/table-1", data.ties = "first" }\n'
        '[[alike]]\nseeds = 8\nthree = { like = "who-2026/table-1" }\n',
        encoding="utf-8",
    )
    assert preset_names() == ["who-2026/one", "who-2026/table-1", "who-2026/three", "who-2026/two"]
    one, two, three = (load_tables(f"who-2026/{name}") for name in ("one", "two", "three"))
    assert [(tables["seeds"], tables["data"]["dataset"]) for tables in (one, two)] == [(7, "mq2008")] * 2
    assert (one["data"]["ties"], two["data"]["ties"]) == ("last", "first")
    assert (three["seeds"], three["data"]["dataset"]) == (8, load_tables("who-2026/table-1")["data"]["dataset"])


def test_numbers_of_the_print_go_along_with_the_same_study_alone(tmp_path: Path) -> None:
    """More seeds and a value that is there already change no study; fewer rounds make another, of any generation."""
    same = 'like = "reference/fpdgd-mq2008"\nseeds = 5\nfederation = { rounds = 2000, evaluate_every = 50 }\n'
    (tmp_path / "same.toml").write_text(same, encoding="utf-8")
    (tmp_path / "other.toml").write_text(same.replace("2000", "10"), encoding="utf-8")
    (tmp_path / "child.toml").write_text(f'like = "{tmp_path / "other.toml"}"\n', encoding="utf-8")
    same, other, child = (load_tables(str(tmp_path / name)) for name in ("same.toml", "other.toml", "child.toml"))
    assert same["expect"] == load_tables("reference/fpdgd-mq2008")["expect"]
    assert (other["expect"].keys(), child["expect"].keys()) == ({"note"}, {"note"})


def test_no_numbers_lie_about_without_a_preset() -> None:
    """Every file of numbers or curves that comes with the program is beside a preset of its name."""
    files = [path for place in PUBLICATIONS for end in BESIDE for path in place.glob(f"*/*{end}")]
    assert len(files) > 30
    assert {f"{path.parent.name}/{path.name.rsplit('.', 2)[0]}" for path in files} <= set(preset_names())


def test_a_word_that_is_no_value_is_itself() -> None:
    """Numbers and truths as TOML has them."""
    assert [parse_value(word) for word in ("4", "0.5", "true", "trimmed mean", "M1")] == [
        4, 0.5, True, "trimmed mean", "M1",
    ]  # fmt: skip


def test_a_file_that_no_publication_has_is_named() -> None:
    """With its name as it was asked for."""
    with pytest.raises(PresetError, match=r"no publication has a file 'nobody-1999/chapter-1\.claims\.csv'"):
        publication_file("nobody-1999/chapter-1.claims.csv")
