"""What cannot be is refused before anything runs: in one line, once, with the key or the file and line."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foltr.errors import FoltrError
from simulation.cli import main
from simulation.errors import DataFileError, PresetError
from simulation.experiment import check_method, prepare
from simulation.partitions import PARTITIONS, PartitionSettings
from tests.simulation.data.written_folds import write_folds
from tests.simulation.small_study import cells_of, preset

FIVE = {"clients": 5, "local": 2, "rounds": 2}


@pytest.mark.parametrize(
    ("federation", "message"),
    [
        (
            {"aggregation": {"rule": "krum", "n_malicious": 9}},
            "federation.aggregation: krum needs at least 21 clients, not 5",
        ),
        (
            {"aggregation": {"rule": "trimmed-mean", "n_malicious": 3}},
            "federation.aggregation: trimmed-mean needs at least 7 clients, not 5",
        ),
        (
            {"attack": {"attack": "opposed"}, "malicious": 6},
            "federation.malicious: wanted at most the 5 of federation.clients, got 6",
        ),
        (
            {"partition": {"kind": "queries"}, "clients": 50, "local": 1},
            "federation.partition: wanted a query for each of 50 clients, got 40",
        ),
    ],
)
@pytest.mark.parametrize("privacy", [{}, {"privacy": {"mechanism": "gaussian", "clip": 1, "noise_multiplier": 1}}])
def test_settings_that_cannot_be(federation: dict[str, Any], message: str, privacy: Any, tmp_path: Path) -> None:
    """A rule that needs more clients, more attackers than clients, fewer queries than clients; no folder is made."""
    study = preset(federation={**FIVE, **federation}, method={"name": "fpdgd", **privacy})
    with pytest.raises(PresetError, match=message):
        prepare(study, root=None, folder=tmp_path / "out", resume=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("part", [{"shared": [0, 1]}, {"ranker": "neural", "personal": True}])
def test_rankers_in_part_are_not_exchanged(part: dict[str, Any], tmp_path: Path) -> None:
    """Clients who test the rankers of others need them whole."""
    study = preset(federation={**FIVE, "acceptance": {"incoming": "peers"}}, method={"name": "fpdgd", **part})
    with pytest.raises(PresetError, match=r"federation.acceptance: clients of fpdgd exchange whole rankers"):
        prepare(study, root=None, folder=tmp_path / "out", resume=False)


@pytest.mark.parametrize("key", ["users.clicks", "users.eta", "data.folds"])
def test_a_list_of_nothing_is_refused(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of users, of their position biases and of folds there is one at least."""
    assert main(["sample", "--set", f"{key}=[]"]) == 2
    assert f"{key}: expected array of length >= 1, got []" in capsys.readouterr().err


def test_a_partition_is_asked_with_every_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What goes wrong with one seed of many is found before the first runs."""
    asked: list[int] = []

    class Moody(PartitionSettings, frozen=True, tag="moody"):
        def split(self, queries: Any, n_clients: int, rng: Any) -> Any:
            asked.append(int(rng.integers(1 << 40)))
            if len(set(asked)) == 3:
                raise PresetError("client 2 would have no query")
            return [queries] * n_clients

    monkeypatch.setitem(PARTITIONS, "moody", Moody)
    study = preset(
        seeds=3, federation={**FIVE, "partition": {"kind": "moody"}}, data={"dataset": "sample", "folds": [1]}
    )
    with pytest.raises(PresetError, match=r"federation.partition: client 2 would have no query in sample, fold 1"):
        prepare(study, root=None, folder=tmp_path / "out", resume=False)


def test_a_grade_that_no_click_model_knows_is_shown_by_file_and_line(tmp_path: Path) -> None:
    """The first such line of a folder that is given by its path, or of a single file."""
    write_folds(tmp_path / "mine", 1, grade=7)
    with pytest.raises(DataFileError, match=r"Fold1/train.txt, line 1: a grade from 0 to 4, .* was expected, 7 came"):
        prepare(preset(data={"dataset": str(tmp_path / "mine")}), root=None, folder=tmp_path / "out", resume=False)
    single = tmp_path / "single.txt"
    single.write_text("".join(f"{grade}.0 qid:{grade} 1:{grade}\r" for grade in range(9)))
    with pytest.raises(DataFileError, match=r"single.txt, line 6: .* 5.0 came"):
        prepare(preset(data={"dataset": str(single), "folds": [1]}), root=None, folder=tmp_path / "out", resume=False)


def test_a_preset_that_cannot_be_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on stderr with the file of the preset, exit code 2."""
    own = tmp_path / "own.toml"
    own.write_text(
        "[data]\ndataset = 'sample'\n[method]\nname = 'fpdgd'\n"
        "[federation]\nclients = 5\naggregation = { rule = 'krum', n_malicious = 9 }\n"
    )
    assert main(["--preset", str(own), "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"foltr-search: {own}: federation.aggregation: krum needs at least 21 clients, not 5")


def test_one_error_of_many_cells_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only a run can find out is told with the first cell it happened to, and how many more there were."""

    def broken(*arguments: object) -> None:
        raise FoltrError("the rounds are broken")

    monkeypatch.setattr("simulation.cells.trial.play_of", broken)
    assert main(["sample", "--rounds", "2", "--clients", "2", "--jobs", "1", "--out", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert err.count("the rounds are broken") == 1
    assert "failed: users.clicks=perfect fold=1 seed=1 and 8 more: the rounds are broken" in err


def test_baselines_that_draw_nothing_run_once_for_each_fold(tmp_path: Path) -> None:
    """Least squares and RankSVM have one seed; LambdaRank, which draws the order of its queries, has all."""
    study = preset(
        seeds=5,
        data={"dataset": "sample", "folds": [1, 2]},
        sweep={"method.name": ["least-squares", "ranksvm", "lambdarank"]},
        method={"name": "lambdarank"},
    )
    cells = prepare(study, root=None, folder=tmp_path / "out", resume=False).cells
    runs = [(cell.method.name, cell.seed) for cell in cells if cell.fold == 1]
    assert runs == [("least-squares", 1), ("ranksvm", 1), *(("lambdarank", seed) for seed in range(1, 6))]


def test_the_table_says_what_a_baseline_does_not_depend_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has fewer runs than the methods beside it, and a line says why."""
    few = ["sample", "--folds", "1", "--clicks", "perfect", "--seeds", "2", "--rounds", "2", "--jobs", "1"]
    assert main([*few, "--method", "fpdgd,least-squares", "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "least-squares: no randomness, so one run for each fold" in out
    runs = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith(("fpdgd", "least-s"))}
    assert (runs["fpdgd"], runs["least-squares"]) == ("2", "1")


def test_the_order_of_checks_reads_each_fold_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many cells a fold has, it is announced and read once."""
    announced: list[int] = []
    study = preset(seeds=3, sweep={"users.clicks": ["perfect", "pbm"], "method.learning_rate": [0.1, 0.2]})
    out = tmp_path / "out"
    experiment = prepare(study, root=None, folder=out, resume=False, reading=lambda said: announced.append(1))
    assert (len(experiment.cells), len(announced)) == (24, 2)
    assert msgspec.json.encode(dict(experiment.digests)).count(b"sample/Fold") == 3


@pytest.mark.parametrize(("options", "said"), [([], 1), (["--set", "data.normalise=none"], 0)])
def test_large_features_of_ones_own_are_spoken_of(
    options: list[str], said: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, with what brings them to one scale; not to who has said how to take them."""
    lines = (f"{document % 3} qid:{query} 1:{query * document}" for query in range(10) for document in range(4))
    (tmp_path / "own.txt").write_text("\n".join(lines), encoding="utf-8")
    few = ["--clicks", "perfect", "--rounds", "2", "--jobs", "1", "--out", str(tmp_path / "out"), *options]
    assert main([str(tmp_path / "own.txt"), *few]) == 0
    wanted = "features as large as 27 are taken as they are; --set data.normalise=min-max scales each query's"
    assert capsys.readouterr().err.count(wanted) == said


@pytest.mark.parametrize(("grades", "said"), [([2, 1, 0], "first"), ([0, 1, 2], "last"), ([1, 2, 0], "")])
def test_a_file_that_tells_the_grades_by_its_order_is_spoken_of(
    grades: list[int], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ranker that has learned nothing would be perfect on it: of equal scores one order of the file decides."""
    lines = (f"{grade} qid:{query} 1:0.5 2:{place}" for query in range(10) for place, grade in enumerate(grades))
    (tmp_path / "own.txt").write_text("\n".join(lines), encoding="utf-8")
    few = ["--clicks", "perfect", "--rounds", "2", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert main([str(tmp_path / "own.txt"), *few, "--set", "data.evaluate_on=train"]) == 0
    shown = capsys.readouterr()
    assert ("stand by grade in the file" in shown.err) == bool(said)
    assert (f"nDCG 1 with data.ties = {said!r}, 0." in shown.err) == bool(said)
    assert "Offline metrics are of the queries that were learned from." in shown.out


@pytest.mark.parametrize(
    ("federation", "fault"),
    [
        (
            {"malicious": 4, "attack": {"attack": "lie"}},
            "federation.malicious: wanted at most the 3 of federation.clients, got 4",
        ),
        ({"malicious": 1}, "federation.attack: wanted what malicious clients do"),
        ({"malicious": 1, "attack": {"attack": "lies"}}, "federation.attack.attack: there is no 'lies'"),
        ({"malicious": 2, "attack": {"attack": "lie"}}, "federation.attack: lie: no z for 2 malicious of 3"),
        ({"malicious": 1, "attack": {"attack": "fang-krum"}}, "federation.attack: fang-krum: 1 malicious need 4"),
        *(
            ({"malicious": 3, "attack": {"attack": name}}, f"federation.attack: {name}: 3 malicious of 3 clients leave")
            for name in ("ipm", "adaptive", "fang-trimmed")
        ),
        ({"aggregation": {"rule": "krum", "n_malicious": 1}}, "federation.aggregation: krum needs at least 5 clients"),
        ({"aggregation": {"rule": "trimmed-mean", "n_malicious": 2}}, "trimmed-mean needs at least 5 clients, not 3"),
        (
            {"aggregation": {"rule": "trimmed-mean", "n_malicious": -1}},
            "n_malicious of trimmed mean must not be negative",
        ),
        (
            {"aggregation": {"rule": "centred-clipping", "radius": -1}},
            "centred clipping needs a positive radius",
        ),
        *(
            ({"malicious": 1, "attack": {"attack": name, key: math.nan}}, f"attack: {key} must be finite, not nan")
            for name, key in (("flip", "scale"), ("opposed", "z"), ("lie", "z"))
        ),
        (
            {
                "aggregation": {"rule": "krum", "n_malicious": 0},
                "forgotten": 1,
                "unlearning": {"unlearning": "retrain"},
            },
            "krum needs at least 3 clients, not 2",
        ),
    ],
)
def test_what_so_few_clients_cannot_do_is_refused(federation: dict[str, Any], fault: str) -> None:
    """More attackers than clients, an attack or rule that needs more, or that has no such numbers: by its key."""
    study = preset(federation={"clients": 3, "local": 2, "rounds": 2, **federation})
    with pytest.raises(PresetError, match=re.escape(fault)):
        check_method(cells_of(study)[0])


def test_a_rule_of_the_methods_own_is_refused_by_its_own_key() -> None:
    """method.aggregation, where the preset says it there."""
    rule = {"rule": "krum", "n_malicious": 3, "strict": False}
    cell = cells_of(preset(method={"name": "fpdgd", "aggregation": rule}))[0]
    with pytest.raises(PresetError, match=r"^method.aggregation: krum needs at least 6 clients, not 3$"):
        check_method(cell)


def test_clicks_drawn_for_each_page_leave_no_malicious_user() -> None:
    """users.mix = "page" and poisoned clicks do not go together."""
    users = {"clicks": ["perfect", "navigational"], "mix": "page"}
    federation = {"clients": 3, "local": 2, "rounds": 2, "malicious": 1, "attack": {"attack": "poisoned-clicks"}}
    cell = cells_of(preset(users=users, federation=federation, sweep={}))[0]
    with pytest.raises(PresetError, match=r"^users.mix: "):
        check_method(cell)


def test_data_without_a_relevant_document_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing could be learned from them, or measured on them."""
    lines = [f"0 qid:{query} 1:{document} 2:0.5\n" for query in range(10) for document in range(3)]
    (tmp_path / "own.txt").write_text("".join(lines))
    assert main([str(tmp_path / "own.txt"), "--out", str(tmp_path / "out")]) == 2
    assert "wanted a relevant document (grade above 0) in a training query, none came" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
