"""The laboratory's command as a person types it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from simulation.cells.preset import Expect, ExpectedCurve, ExpectedValue
from simulation.cli import _need_extra, main
from simulation.data.known_datasets import data_folder
from simulation.errors import PresetError
from simulation.experiment import stored_preset
from simulation.listing import catalogue
from simulation.report.display_names import TITLES
from simulation.run_folder import read_run
from simulation.study import drawn

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["sample", "--rounds", "4", "--evaluate-every", "2", "--clients", "3", "--local", "2", "--folds", "1"]


def process(arguments: Sequence[str], *, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """`python -m simulation ARGUMENTS` in a process group of its own, as a shell starts it.

    A shell ignores Ctrl-C on behalf of what it runs in the background, and that is handed down: where the tests are
    run so, the process must be told that it is in the foreground.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "simulation", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FOLTR_DATASETS": "", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty current folder, no data, no settings; without pictures, which take longer than everything else."""
    monkeypatch.setattr("simulation.report.plots.write_plots", lambda *arguments, **options: [])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOLTR_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("FOLTR_DATASETS", "")


def test_help_and_list_load_nothing_that_computes(tmp_path: Path) -> None:
    """Help loads no numpy; the list loads neither the compiler nor the plots."""
    code = "import sys; from simulation.cli import main; main({!r}); print(*sys.modules, file=sys.stderr)"
    loaded = {}
    for option in ("--help", "--list"):
        done = subprocess.run(
            [sys.executable, "-c", code.format([option])], cwd=ROOT, capture_output=True, text=True, check=True
        )
        loaded[option] = set(done.stderr.split())
    assert not loaded["--help"] & {"numpy", "numba", "msgspec"}
    assert not loaded["--list"] & {"numba", "matplotlib", "scipy", "ray", "rich"}


def test_list_shows_what_there_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Data sets with their presence, methods, presets; the folds that are here, of which one is no plural."""
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for wanted in ("mq2008", "not here", "synthetic", "fpdgd", "quick/fpdgd", "FOLTR_DATASETS"):
        assert wanted in shown
    for folds, said in (((1,), "1 fold"), ((1, 2), "2 folds")):
        monkeypatch.setattr("simulation.listing.folds_present", lambda name, root, folds=folds: folds)
        assert set(re.findall(r"\d folds?", catalogue(None, width=999))) == {said}


def test_help_and_list_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 80 columns; what goes on in another line says the same words."""
    assert main(["--help"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []
    narrow = catalogue(None, width=80)
    assert max(map(len, narrow.splitlines())) <= 80
    assert narrow.split() == catalogue(None, width=999).split()


def test_a_small_study_from_the_command_line(tmp_path: Path) -> None:
    """Options over the quick preset: three kinds of users, rows and the resolved preset in the folder."""
    assert main([*SMALL, "--out", "run", "--jobs", "1"]) == 0
    rows = read_run(tmp_path / "run").rows
    assert [row.settings["users.clicks"] for row in rows[::3]] == ["perfect", "navigational", "informational"]
    assert [row.round for row in rows[:3]] == [0, 2, 4]
    assert "clients = 3" in (tmp_path / "run" / "preset.toml").read_text(encoding="utf-8")


def test_a_set_that_is_not_here_has_a_stand_in_and_that_is_said_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line, the table, the curve, both summaries, the environment, the preset and the pictures say so."""
    pictures: dict[str, object] = {}
    monkeypatch.setattr("simulation.report.plots.write_plots", lambda *arguments, **options: pictures.update(options))
    few = ["--rounds", "2", "--clients", "2", "--folds", "1", "--clicks", "perfect", "--jobs", "1"]
    assert main(["mq2007", *few, "--out", "run"]) == 0
    said = "NOT LETOR 4.0 MQ2007: synthetic-mq2007, made up, shaped like MQ2007"
    shown = capsys.readouterr()
    assert shown.err.startswith(f"foltr-search: {said}; the real set: from https://")
    assert shown.out.startswith(f"Results after the last round - {said}\n")
    assert "offline nDCG@10 - NOT LETOR 4.0 MQ2007\n" in shown.out
    for name in ("summary.md", "summary.json", "environment.json"):
        assert said in (tmp_path / "run" / name).read_text(encoding="utf-8")
    assert stored_preset(tmp_path / "run").data.in_place_of == "mq2007"
    assert pictures["stand_in"] == said
    assert main(["--resume", "--out", "run", "--jobs", "1"]) == 0
    assert capsys.readouterr().out == shown.out


def test_without_out_results_get_a_new_folder_here(tmp_path: Path) -> None:
    """It is named for the data set and the time."""
    assert main([*SMALL, "--clicks", "perfect", "--jobs", "1"]) == 0
    assert len(list(tmp_path.glob("foltr-sample-*/rows.jsonl"))) == 1


def test_a_preset_of_ones_own_by_path(tmp_path: Path) -> None:
    """--preset takes a file, --set any key of it."""
    own = tmp_path / "own.toml"
    own.write_text(
        "[data]\ndataset = 'sample'\nfolds = [2]\n[method]\nname = 'fpdgd'\n[federation]\nrounds = 1\n",
        encoding="utf-8",
    )
    assert main(["--preset", str(own), "--set", "federation.clients=2,3", "--out", "run", "--jobs", "1"]) == 0
    rows = read_run(tmp_path / "run").rows
    assert {row.settings["federation.clients"] for row in rows} == {2, 3}
    assert {row.fold for row in rows} == {2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "wanted a DATASET or --preset"),
        (["--no-such-option"], "No such option"),
        (["mq2008"], "--data DIR or FOLTR_DATASETS"),
        (["nowhere"], "neither a data set ("),
        (["sample", "--clicks", "perfekt"], "users.clicks: 'perfekt' is none of perfect, "),
        (["sample", "--clicks", "cascade"], "users.clicks.attraction: missing"),
        (
            ["sample", "--set", "users.clicks={model='cascade', attraction=[0, 1]}"],
            "wanted 3 numbers, one for each grade",
        ),
        (["sample", "--method", "fpgd"], "there is no method 'fpgd'; there are "),
        (["sample", "--rounds", "many"], "federation.rounds: expected int, got str"),
        (["sample", "--folds", "1-x"], "wanted numbers such as"),
        (["sample", "--set", "rounds"], "wanted KEY=VALUE"),
        (["sample", "--set", "users.klicks=1"], "users.klicks: there is no such key"),
        (["sample", "--preset", "no/such"], "no preset 'no/such'"),
        (["--preset", "~nobody-has-this-name/x"], "no preset '~nobody-has-this-name/x'"),
        (["sample", "--with", "~nobody-has-this-name/x.py"], "with: there is no file"),
        (["mq2008", "--data", "~nobody-has-this-name/x"], "not in ~nobody-has-this-name"),
        (["sample", "--resume"], "--out DIR"),
        (["sample", "--resume", "--out", "empty"], "holds no run to go on with"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing runs, nothing is written, and stdout stays empty."""
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, before anything is imported that is not there."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["sample"]) == 2
    assert "[simulation]" in capsys.readouterr().err
    assert main(["--list"]) == 0
    with pytest.raises(Exception, match="numba"):
        _need_extra()


def test_the_folder_of_data_sets(tmp_path: Path) -> None:
    """The option, else FOLTR_DATASETS, else simulation.toml, else none."""
    environment = {"FOLTR_CONFIG_DIR": str(tmp_path)}
    assert data_folder(None, environment) is None
    (tmp_path / "simulation.toml").write_text("datasets = '/c'\n", encoding="utf-8")
    assert data_folder(None, environment) == Path("/c")
    assert data_folder(None, {**environment, "FOLTR_DATASETS": "/b"}) == Path("/b")
    assert data_folder("/a", {**environment, "FOLTR_DATASETS": "/b"}) == Path("/a")
    (tmp_path / "simulation.toml").write_text("dataset = '/c'\n", encoding="utf-8")
    with pytest.raises(PresetError, match=r"simulation\.toml: "):
        data_folder(None, environment)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_keeps_the_curves_and_says_how_to_go_on(jobs: str, tmp_path: Path) -> None:
    """Ctrl-C in a terminal: exit code 130, whole rows and their curves on disk, and what to type to go on."""
    arguments = ["sample", "--rounds", "100000", "--evaluate-every", "1", "--folds", "1", "--out", "run"]
    running = process([*arguments, "--jobs", jobs, "--pictures", "offline_ndcg"], cwd=tmp_path)
    rows = tmp_path / "run" / "rows.jsonl"
    try:
        deadline = time.monotonic() + 300
        while not (rows.exists() and rows.stat().st_size > 10_000):
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)  # what ran on would slow down all tests that follow
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert "offline nDCG@10" in out
    assert {"rows.csv", "offline_ndcg.png", "offline_ndcg.svg"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert "--resume --out run" in err
    assert len(read_run(tmp_path / "run").rows) > 10


def test_an_interrupt_of_the_pictures_says_how_to_make_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after the last cell costs no row, and the printed command makes the rest without running a cell."""

    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("simulation.report.plots.write_plots", interrupted)
    assert main([*SMALL, "--clicks", "perfect", "--out", "run", "--jobs", "1"]) == 130
    assert "to make them:" in capsys.readouterr().err
    monkeypatch.setattr("simulation.report.plots.write_plots", lambda *arguments, **options: [])
    assert main(["--resume", "--out", "run", "--jobs", "1"]) == 0
    assert "done in" not in capsys.readouterr().err


def test_pictures_are_those_of_the_paper_or_those_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a paper no MRR; a finished run is drawn again with it; a metric that is none is named at once."""
    seen: list[list[str]] = []
    monkeypatch.setattr("simulation.report.plots.write_plots", lambda *_, metrics, **__: seen.append([*metrics]))
    assert main([*SMALL, "--clicks", "perfect", "--out", "run", "--jobs", "1"]) == 0
    assert main(["--resume", "--out", "run", "--jobs", "1", "--pictures", "offline_mrr, offline_map"]) == 0
    assert main(["--resume", "--out", "run", "--jobs", "1", "--pictures", "all"]) == 0
    assert seen[1:] == [["offline_mrr", "offline_map"], [*TITLES]]
    assert {*TITLES} - {*seen[0]} == {"offline_mrr", "offline_map", "offline_max_rr", "online_mrr", "online_max_rr"}
    value = ExpectedValue(metric="online_mrr", value=0.5)
    curve = ExpectedCurve(metric="offline_ndcg", at=(1,), values=(0.5,))
    assert drawn(Expect(values=(value, value), curves=(curve,))) == ["online_mrr", "offline_ndcg"]
    capsys.readouterr()
    assert main([*SMALL, "--out", "other", "--pictures", "offline_mpa"]) == 2
    error = capsys.readouterr().err
    assert "--pictures: wanted all, or some of offline_ndcg, " in error
    assert error.count("\n") == 1
    assert not Path("other").exists()


def test_a_reader_who_leaves_costs_no_file(tmp_path: Path) -> None:
    """`| head -1`: whatever becomes of stdout, the pictures are in the folder."""
    one = ["--clicks", "perfect", "--jobs", "1", "--pictures", "offline_ndcg"]
    running = process([*SMALL, *one, "--out", "run"], cwd=tmp_path)
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    running.stderr.read()
    running.wait(timeout=300)
    assert (tmp_path / "run" / "offline_ndcg.svg").exists()


def test_an_aggregation_rule_with_its_settings(tmp_path: Path) -> None:
    """Of one rule the settings follow its name; names alone are tried one after the other."""
    few = [*SMALL, "--clicks", "perfect", "--jobs", "1"]
    assert main([*few, "--aggregation", "trimmed-mean:n_malicious=1", "--out", "one"]) == 0
    assert stored_preset(tmp_path / "one").federation.aggregation == {"rule": "trimmed-mean", "n_malicious": 1}
    assert main([*few, "--aggregation", "mean,median", "--out", "two"]) == 0
    assert stored_preset(tmp_path / "two").sweep == {"federation.aggregation.rule": ["mean", "median"]}


@pytest.mark.parametrize("cold", [True, False])
def test_a_run_says_when_it_has_to_compile_first(
    cold: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no compiled kernels are, one line says that the first rounds take long."""
    monkeypatch.setattr("simulation.study.anything_compiled", lambda: not cold)
    assert main([*SMALL, "--clicks", "perfect", "--out", "run", "--jobs", "1"]) == 0
    assert capsys.readouterr().err.count("nothing is compiled yet") == cold


def test_resume_needs_the_folder_alone(tmp_path: Path) -> None:
    """`--resume --out DIR` runs what is left of what DIR says, and nothing that is there already."""
    assert main([*SMALL, "--out", "run", "--jobs", "1"]) == 0
    path = tmp_path / "run" / "rows.jsonl"
    whole = read_run(tmp_path / "run").rows
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    cells = tmp_path / "run" / "cells.jsonl"
    cells.write_bytes(cells.read_bytes().splitlines(keepends=True)[0])
    assert main(["--resume", "--out", "run", "--jobs", "1"]) == 0
    again = read_run(tmp_path / "run").rows
    assert again[:3] == whole[:3]
    assert [msgspec.structs.replace(row, seconds=0) for row in again] == [
        msgspec.structs.replace(row, seconds=0) for row in whole
    ]


def test_resume_with_another_study_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With or without the data set's name, the first setting that differs is named."""
    assert main([*SMALL, "--clicks", "perfect", "--out", "run", "--jobs", "1"]) == 0
    assert main([*SMALL, "--clicks", "perfect", "--seeds", "2", "--resume", "--out", "run"]) == 2
    assert "begun with seeds = 1, now it is seeds = 2" in capsys.readouterr().err
    assert main(["--clicks", "pbm", "--resume", "--out", "run"]) == 2
    assert "begun with users.clicks = 'perfect', now it is users.clicks = 'pbm'" in capsys.readouterr().err
    assert main(["--clicks", "perfect", "--resume", "--out", "run"]) == 0


def test_an_attack_by_nobody_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """The rows are as without it; where somebody attacks in some cells, nothing is said."""
    few = [*SMALL, "--clicks", "perfect", "--jobs", "1", "--set", "federation.attack.attack=flip"]
    for number, malicious in enumerate(("0", "0,1")):
        assert main([*few, "--set", f"federation.malicious={malicious}", "--out", str(number)]) == 0
        said = "nobody attacks: federation.malicious is 0" in capsys.readouterr().err
        assert said == (malicious == "0")
