"""The page of reproduction and the rows that come with the program say the same."""

from __future__ import annotations

import pytest

from benchmarks.reproduction import BEGIN, END, PAGE, page
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
