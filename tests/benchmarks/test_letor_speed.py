"""The file that the parser is measured on is a valid one of the size asked for."""

from __future__ import annotations

from pathlib import Path

from benchmarks.letor_speed import SAMPLE, repeat
from simulation.data.letor import parse_file


def test_the_sample_is_repeated_under_other_query_ids(tmp_path: Path) -> None:
    """Whole files again and again; no query of one round goes on in another."""
    files = sorted(SAMPLE.glob("*.txt"))
    repeat(files, tmp_path / "data.txt", 1_000_000)
    assert 1_000_000 <= (tmp_path / "data.txt").stat().st_size < 1_200_000
    found = parse_file(tmp_path / "data.txt")
    assert found.n_queries % 20 == 0
    assert found.n_queries > 3 * 20
