"""What Prometheus and the log are told of a round that is over."""

from __future__ import annotations

import logging

import pytest

from federation_server.rounds.rounds import Closed
from federation_server.running.monitoring import Counters


@pytest.mark.parametrize(
    ("verdict", "guarded", "not_judged", "level"),
    [("calm", 0, 0, logging.INFO), ("alert", 1, 0, logging.WARNING), ("not judged", 0, 1, logging.INFO)],
)
def test_a_round_is_counted_by_what_the_guard_said(
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    verdict: str,
    guarded: int,
    not_judged: int,
    level: int,
) -> None:
    """Each verdict has its counter, and an alert is a warning in the log."""
    monkeypatch.setattr(logging.getLogger("foltr-server"), "propagate", True)  # a server of this process had it off
    counters = Counters()
    with caplog.at_level(logging.INFO, "foltr-server"):
        counters.closed(Closed(1, 7, 5, "mean", verdict, "all is calm", 0.5))  # type: ignore[arg-type]
    names = ("rounds_closed", "rounds_guarded", "rounds_not_judged")
    values = [counters.registry.get_sample_value(f"foltr_{name}_total") for name in names]
    assert values == [1, guarded, not_judged]
    assert counters.registry.get_sample_value("foltr_round_updates") == 5
    assert [record.levelno for record in caplog.records] == [level]


def test_of_a_sum_the_log_says_nothing_about_agreement(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of a sealed group sees no single updates, so the line has no number that would look like one."""
    monkeypatch.setattr(logging.getLogger("foltr-server"), "propagate", True)
    with caplog.at_level(logging.INFO, "foltr-server"):
        Counters().closed(Closed(1, 7, 5, "sum", "not judged", "not judged: sums alone", None))
    assert caplog.messages == ["lineage 1 round 7 closed with 5 updates by sum; guard: not judged: sums alone"]
