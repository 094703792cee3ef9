"""One way to run a benchmark, one place for what it printed, and a page that says the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.page import MARK, PAGE, filled
from benchmarks.running import Option, Result, arguments, benchmarks, keep, results, run
from benchmarks.tables import Table, tables_in


@pytest.fixture(autouse=True)
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed is put back."""
    monkeypatch.setattr(sys, "argv", ["python -m benchmarks herons"])


def test_the_page_says_what_was_kept() -> None:
    """Each of its tables is one of benchmarks/results; `python -m benchmarks --write-page` makes it so."""
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text) == text
    assert len(list(tables_in(text.splitlines()))) == len(MARK.findall(text))


def test_a_table_that_is_not_kept_is_named(tmp_path: Path) -> None:
    """A page that wants more than there is."""
    with pytest.raises(LookupError, match=r"results/herons.json has 0 tables, the page wants number 1"):
        filled("<!-- herons 1 -->\n| old |\n", tmp_path)


def test_the_same_command_takes_the_place_of_its_former_tables(tmp_path: Path) -> None:
    """And leaves those of others where they are; the page gets the new ones, and keeps its words."""
    first, second = (
        Result(f"herons --n {n}", [Table(("n", ""), [(str(n), "a | b".replace("|", "or"))])]) for n in (1, 2)
    )
    keep("herons", first, tmp_path)
    keep("herons", second, tmp_path)
    keep("herons", Result("herons --n 1", [Table(("n", ""), [("7", "")])]), tmp_path)
    assert [(one.command, one.tables[0].rows) for one in results("herons", tmp_path)] == [
        ("herons --n 1", [("7", "")]),
        ("herons --n 2", [("2", "a or b")]),
    ]
    page = filled("Before\n\n<!-- herons 1 -->\n| old |\n| --- |\n| 1 |\n\nAfter\n", tmp_path)
    assert page == "Before\n\n<!-- herons 1 -->\n| n | |\n| --- | --- |\n| 7 | |\n\nAfter\n"
    assert filled(page, tmp_path) == page


def test_a_run_keeps_its_tables_and_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it prints is seen, its tables are data, a path is named by its last part, the exit code is its own."""
    herons = ModuleType("benchmarks.herons")

    def main() -> int:
        asked = arguments("Herons.", folder=Path, n=3)
        print("busy", Table(("n", "folder"), [(str(asked.n), asked.folder.name)]), sep="\n\n")
        return 4

    herons.main = main  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "benchmarks.herons", herons)
    assert run("herons", [str(tmp_path / "lake"), "--n", "5"], tmp_path) == 4
    assert capsys.readouterr().out.startswith("busy\n\n| n | folder |")
    (kept,) = results("herons", tmp_path)
    assert kept == Result("python -m benchmarks herons lake --n 5", [Table(("n", "folder"), [("5", "lake")])])


def test_a_default_says_what_may_be_typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Flags, numbers, several values, folders; what is no choice is refused."""
    options = {
        "quiet": False, "seeds": [1, 2], "rate": 0.5, "cache": None, "files": [Path],
        "kind": Option("linear", "of ranker", choices=("linear", "neural")), "more": Option((), kind=int),
    }  # fmt: skip
    asked = vars(arguments("Herons.", **options))
    assert asked == {
        "quiet": False, "seeds": [1, 2], "rate": 0.5, "cache": None, "files": [], "kind": "linear", "more": (),
    }  # fmt: skip
    words = "a b --quiet --seeds 3 4 5 --rate 2 --cache c --kind neural --more 7"
    monkeypatch.setattr(sys, "argv", ["herons", *words.split()])
    asked = vars(arguments("Herons.", **options))
    assert asked == {
        "quiet": True, "seeds": [3, 4, 5], "rate": 2.0, "cache": Path("c"), "files": [Path("a"), Path("b")],
        "kind": "neural", "more": [7],
    }  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["herons", "--kind", "cubic"])
    with pytest.raises(SystemExit):
        arguments("Herons.", **options)
    assert "cubic" in capsys.readouterr().err


def test_the_list_names_each_benchmark_once_with_what_it_measures() -> None:
    """`python -m benchmarks` prints it and loads none of them; a name that is not there is an error of one line."""
    known = dict(benchmarks())
    assert {"union", "peers", "week"} <= known.keys()
    assert all(about.endswith((".", "?")) for about in known.values())
    listed = subprocess.run([sys.executable, "-m", "benchmarks"], capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in listed.splitlines()[4:]] == list(known)
    wrong = subprocess.run([sys.executable, "-m", "benchmarks", "heron"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
