"""Progress: what the meter counts, and that reports do not flood."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest

from indexer.progress import Meter, Progress, WorkDone, remaining_seconds

TRACES: dict[str, list[tuple[float, int, int]]] = json.loads(Path(__file__).with_name("traces.json").read_text())
"""Four runs over real folders, newest files first: (seconds since the first file, files, bytes) twice a second."""


def test_the_time_left_is_between_that_by_files_and_that_by_bytes() -> None:
    """A quarter of the files and a ninth of the bytes in ten seconds leave 30 and 80: sqrt(30 * 80)."""
    assert remaining_seconds(10.0, WorkDone(25, 100), WorkDone(100, 900)) == pytest.approx((30.0 * 80.0) ** 0.5)
    assert remaining_seconds(10.0, WorkDone(100, 100), WorkDone(900, 900)) == 0


def test_nothing_is_said_before_it_is_known() -> None:
    """Too early, too few files, or estimates that disagree by more than a factor of three."""
    assert remaining_seconds(1.9, WorkDone(25, 100), WorkDone(25, 100)) is None
    assert remaining_seconds(10.0, WorkDone(7, 100), WorkDone(25, 100)) is None
    assert remaining_seconds(10.0, WorkDone(25, 100), WorkDone(10, 1_000)) is None
    assert remaining_seconds(10.0, WorkDone(25, 100), WorkDone(0, 0)) is None


@pytest.mark.parametrize("name", TRACES)
def test_on_recorded_runs_no_estimate_is_wild(name: str) -> None:
    """Rows of seconds, files and bytes: never wrong by a factor of three, 1.6 in the mean, and said."""
    rows = TRACES[name]
    end, n_files, n_bytes = rows[-1]
    found = [
        (end - seconds, remaining_seconds(seconds, WorkDone(files, n_files), WorkDone(read, n_bytes)))
        for seconds, files, read in rows
        if end - seconds >= 2
    ]
    wrong = [abs(math.log2((left + 1) / (real + 1))) for real, left in found if left is not None]
    assert len(wrong) > len(found) / 3
    assert max(wrong) < math.log2(3)
    assert sum(wrong) / len(wrong) < math.log2(1.6)


def test_a_thousand_files_are_a_few_reports_and_the_last_one_is_complete() -> None:
    """Reports come at most ten times a second, a phase and the end always."""
    reports: list[Progress] = []
    meter = Meter(reports.append, generation=3)
    meter.begin("indexing", n_total=1000, bytes_total=5000)
    for i in range(1000):
        meter.count(f"/f{i}", 5, "broken" if i == 7 else "")
    meter.report(phase="idle")
    assert len(reports) < 100
    last = reports[-1]
    assert (last.n_done, last.bytes_done, last.n_failed, last.generation) == (1000, 1000 * 5, 1, 3)
    assert last.last_error == "/f7: broken"


def test_a_report_survives_json() -> None:
    """The background process sends reports as JSON; a name that is not UTF-8 was made printable before."""
    reports: list[Progress] = []
    meter = Meter(reports.append, generation=0, note="polling")
    meter.count("/bad\udcff\n.txt", 1)
    meter.report()
    assert msgspec.json.decode(msgspec.json.encode(reports[-1]), type=Progress) == reports[-1]
    assert "\n" not in reports[-1].current
