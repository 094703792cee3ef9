"""What Prometheus and the log are told of a round that is over."""

from __future__ import annotations

import json
import logging
import socket
from pathlib import Path

import pytest

from federation_server.rounds.rounds import Closed
from federation_server.running.monitoring import Counters, begin_logging
from tests.federation_server.client import make_server, running


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


def test_a_stranger_does_not_fill_the_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A hundred requests that are no HTTP, or ask for another protocol, leave no line; an error of uvicorn is one."""
    made = make_server(tmp_path / "server")
    with running(made):
        begin_logging("json")
        port = made.settings.server.port
        for number in range(100):
            with socket.create_connection(("127.0.0.1", port)) as line:
                upgrade = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                line.sendall(upgrade if number % 2 else b"\x16\x03\x01 no HTTP\r\n\r\n")
                assert line.recv(1000)
    assert capsys.readouterr().err == ""
    logging.getLogger("uvicorn.error").error("it failed")
    assert json.loads(capsys.readouterr().err)["message"] == "it failed"
