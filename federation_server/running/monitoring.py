"""Metrics and log for the operator: about the group as a whole, never a vector, a name or an address.

The log on stderr has one line an event, as text or JSON.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from federation_server.refusals import REASONS
from federation_server.rounds.rounds import Closed

log = logging.getLogger("foltr-server")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": moment, "level": record.levelname.lower(), "message": record.getMessage()}
        return json.dumps(line | getattr(record, "fields", {}))


def begin_logging(form: Literal["text", "json"]) -> None:
    """Write this program's events, and errors below it, in this form; strangers can cause warnings without end."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    below = (("uvicorn", logging.ERROR), ("asyncio", logging.ERROR), ("alembic", logging.WARNING))
    for name, level in (("foltr-server", logging.INFO), *below):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def _log_closed(event: Closed) -> None:
    """A round is over."""
    fields = {"lineage": event.lineage, "round": event.round, "updates": event.n_updates, "rule": event.rule}
    level = logging.WARNING if event.verdict == "alert" else logging.INFO
    agreed = f", agreement {event.agreement:.2f} (by chance {event.chance:.2f})" if event.agreement is not None else ""
    told = {"guard": event.summary, "verdict": event.verdict, "agreement": event.agreement, "chance": event.chance}
    text = "lineage %d round %d closed with %d updates by %s%s; guard: %s"
    log.log(level, text, *fields.values(), agreed, event.summary, extra={"fields": fields | told})


class Counters:
    """The metrics of one server process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.accepted = Counter("foltr_updates_accepted_total", "Updates kept.", registry=registry)
        self.refused = Counter("foltr_refused_total", "Requests refused, by reason.", ["reason"], registry=registry)
        self.rounds = Counter("foltr_rounds_closed_total", "Rounds closed.", registry=registry)
        self.alerts = Counter("foltr_rounds_guarded_total", "Rounds in which the guard stepped in.", registry=registry)
        self.not_judged = Counter(
            "foltr_rounds_not_judged_total", "Rounds of which the guard can say nothing.", registry=registry
        )
        self.seconds = Histogram(
            "foltr_request_seconds",
            "Time to answer, by address.",
            ["address"],
            registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
        )
        self.in_round = Gauge("foltr_round_updates", "Updates in the last closed round.", registry=registry)
        self.turned_away = Counter(
            "foltr_connections_refused_total", "Connections closed unread, for there were too many.", registry=registry
        )
        for reason in REASONS:
            self.refused.labels(reason)

    def closed(self, closed: Closed) -> None:
        """A round is over."""
        _log_closed(closed)
        self.rounds.inc()
        self.in_round.set(closed.n_updates)
        if closed.verdict == "alert":
            self.alerts.inc()
        elif closed.verdict == "not judged":
            self.not_judged.inc()
