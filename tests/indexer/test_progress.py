"""Progress: what the meter counts, and that reports do not flood."""

from __future__ import annotations

import msgspec
import pytest

from indexer.progress import Meter, Progress, remaining_seconds


def test_the_time_left_is_proportional() -> None:
    """A quarter done in ten seconds leaves thirty; with nothing done nothing is known."""
    assert remaining_seconds(10.0, 25, 100) == pytest.approx(30.0)
    assert remaining_seconds(10.0, 0, 100) is None
    assert remaining_seconds(0.5, 25, 100) is None


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
