"""What Prometheus may see: counts and levels of the group as a whole, never a member's name or vector."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from federation_server.closed import Closed
from federation_server.refusals import REASONS


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
        self.rounds.inc()
        self.in_round.set(closed.n_updates)
        if closed.verdict == "alert":
            self.alerts.inc()
        elif closed.verdict == "not judged":
            self.not_judged.inc()
