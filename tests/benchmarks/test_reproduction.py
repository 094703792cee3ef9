"""The page of reproduction and the rows that come with the program say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reproduction import BEGIN, END, PAGE, page
from simulation.cells.preset_tables import named_preset
from simulation.cli import main
from simulation.verification import read_shipped, shipped_files


def test_the_page_is_made_of_the_rows() -> None:
    """What stands between its marks; `python -m benchmarks reproduction --write-page` makes it so."""
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text


def test_what_is_of_another_build_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presets that the page speaks of, one by one or many by a star, and whose rows are not kept; no others."""
    monkeypatch.setattr("benchmarks.reproduction.shipped_files", lambda: shipped_files()[:1])
    kept = read_shipped(shipped_files()[0])[0].preset
    made = page(
        f"`wang-2024/figure-5.2` and `tao-2025/*`, `{kept}`, `nobody/nothing`\n{BEGIN}\nPREVIOUS\n{END}\nAfter.\n"
    )
    assert "`tao-2025/clean`, `tao-2025/data-poisoning`" in made
    assert "`wang-2024/figure-5.2`" in made.partition(BEGIN)[2]
    assert made.count(f"`{kept}`") == 2  # where it was, and as the title of its own table
    assert "nobody/" not in made.partition(BEGIN)[2]
    assert "PREVIOUS" not in made
    assert made.endswith(f"{END}\nAfter.\n")


def test_what_a_paper_leaves_open_stands_on_the_page_and_below_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The notes of a preset, of the study and of its numbers, in both, and in the folder of the run."""
    name = "kharitonov-2019/table-2"
    assert main(["--preset", name, "--out", str(tmp_path / "run"), "--jobs", "1", "--pictures", "epsilon"]) == 0
    notes = named_preset(name).notes
    assert [note.partition(" ")[0] for note in notes] == ["Computed,", "Printed"]
    for where in (PAGE, tmp_path / "run" / "summary.md"):
        assert all(note in where.read_text(encoding="utf-8") for note in notes)
    assert capsys.readouterr().out.count("\n".join(notes)) == 1


def test_what_is_forgotten_stands_beside_retraining() -> None:
    """The verdicts of unlearning on the page are made of the rows as well."""
    assert "| informational | federaser | 10 | 3 | - | 5 | 0.6996" in PAGE.read_text(encoding="utf-8")
