"""What happened in the group and how it stands, for the operator: whole rounds, noise, privacy spent; no member alone.

What a member spends is told for one who takes part in every round, at delta 1e-5, against the server: where it opens
each update, by the device's own noise; where it learns only their sum, by the noise of the sum.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, func, select

from console.wording import iso_day, rows_in_words
from federation_server.group import group, roster_book
from federation_server.group.enrolment import is_active
from federation_server.rounds.rounds import DAY, chance
from federation_server.tables import forgettings, members, models, rounds
from foltr.federated.sealed.committee import PART, honest_arrivals, least_arrivals, least_members, quorums
from foltr.federated.wire import ModelRecord, Terms, decode, decode_vector
from foltr.privacy.accounting import Ledger, noise_over_signal
from foltr.privacy.mechanisms import Gaussian, Mechanism

COLUMNS = (
    "lineage", "round", "purpose", "state", "opened", "deadline", "closed", "n_updates", "rule", "guard", "verdict",
    "update_norm", "agreement",
)  # fmt: skip

ERASED = "a member who took part was forgotten, and what this said of the updates is erased"
"""in place of what closing a round had said of its updates"""


class ModelSummary(msgspec.Struct, frozen=True):
    """A published ranker as numbers about it."""

    lineage: int
    round: int
    hash: str
    created: int
    norm: float
    """||theta||_2"""
    drift: float
    """||theta - theta of the present lineage's first model||_2"""


def latest_rounds(connection: Connection, n: int) -> list[dict[str, Any]]:
    """Newest first; never the round's keys."""
    columns = [rounds.c[name] for name in COLUMNS]
    query = select(*columns).order_by(rounds.c.lineage.desc(), rounds.c.round.desc()).limit(n)
    return [dict(row._mapping) for row in connection.execute(query)]


def one_round(connection: Connection, lineage: int, number: int) -> dict[str, Any] | None:
    """As `latest_rounds`, with the hash of the ranker that it began from; None when there was no such round."""
    columns = [rounds.c[name] for name in (*COLUMNS, "model_hash")]
    query = select(*columns).where(rounds.c.lineage == lineage, rounds.c.round == number)
    row = connection.execute(query).first()
    return dict(row._mapping) if row is not None else None


def latest_models(connection: Connection, n: int) -> list[ModelSummary]:
    """Newest first."""
    query = select(models).order_by(models.c.lineage.desc(), models.c.round.desc()).limit(n)
    rows = connection.execute(query).all()
    if not rows:
        return []
    origin = group.first(connection, rows[0].lineage)
    found = []
    for row in rows:
        record = decode(bytes(row.record), ModelRecord)
        theta = decode_vector(record.theta, len(record.theta) // 8)
        drift = float(np.linalg.norm(theta - origin.model.theta)) if origin else float("nan")
        summary = ModelSummary(row.lineage, row.round, row.hash, row.created, float(np.linalg.norm(theta)), drift)
        found.append(summary)
    return found


def requests(connection: Connection) -> list[dict[str, Any]]:
    """Forget-me requests, newest first: when, how, how far; no names."""
    columns = [forgettings.c[name] for name in ("request", "asked", "state", "method", "erased", "done")]
    found = connection.execute(select(*columns).order_by(forgettings.c.asked.desc()))
    return [{**row._mapping, "erased": rows_in_words(msgspec.json.decode(row.erased))} for row in found]


DELTA = 1e-5


class Spent(msgspec.Struct, frozen=True):
    """Privacy in the present period."""

    n_rounds: int
    """that took updates in the period"""
    n_allowed: int
    """rounds in a period; 0: no end"""
    epsilon: float | None
    """after those rounds; None without a guarantee"""
    epsilon_next: float | None
    """after one more"""
    epsilon_budget: float | None
    """after all rounds of a period, None where there is no end to them"""

    @property
    def left(self) -> float | None:
        """Of the period's epsilon; None where the rounds have no end, or nothing is guaranteed."""
        if self.epsilon is None or self.epsilon_budget is None:
            return None
        return max(self.epsilon_budget - self.epsilon, 0.0)

    @property
    def n_left(self) -> int | None:
        """Rounds that the period still allows, None where there is no end."""
        return max(self.n_allowed - self.n_rounds, 0) if self.n_allowed else None


def epsilon(agreed: Terms, n_rounds: int) -> float | None:
    """Epsilon at delta 1e-5 after `n_rounds`, against one's own absence; None without a guarantee."""
    if not n_rounds:
        return 0.0
    method = group.method_of(agreed)
    ledger = Ledger(method.n_sent).spend(method.privacy, n_rounds)
    spent = ledger.epsilon(DELTA, against="server" if agreed.mode == "open" else "sum")
    return spent if math.isfinite(spent) else None


def spent_in_period(connection: Connection, agreed: Terms, *, now: int) -> Spent:
    """Counted over the rounds of the last `period_days` in which any update came in, however they ended."""
    began = now - agreed.period_days * DAY
    query = select(rounds.c.n_updates).where(rounds.c.state != "open", rounds.c.n_updates > 0, rounds.c.closed > began)
    n_rounds = len(connection.execute(query).all())
    whole = epsilon(agreed, agreed.n_rounds) if agreed.n_rounds else None
    return Spent(n_rounds, agreed.n_rounds, epsilon(agreed, n_rounds), epsilon(agreed, n_rounds + 1), whole)


def budget_over(agreed: Terms, closed: Sequence[dict[str, Any]]) -> tuple[float | None, list[float | None]]:
    """The period's epsilon and what was left of it after each closed round, oldest first.

    Where rounds have no end the first is None, and the others are what was spent.
    """
    budget, found = epsilon(agreed, agreed.n_rounds) if agreed.n_rounds else None, []
    for place, row in enumerate(closed):
        began = row["closed"] - agreed.period_days * DAY
        used = epsilon(agreed, sum(1 for other in closed[: place + 1] if other["closed"] > began))
        found.append(used if budget is None or used is None else max(budget - used, 0.0))
    return budget, found


def noise(agreed: Terms, counts: Sequence[int]) -> float | None:
    """The length of the noise that rounds of `counts` updates added, over that of the longest signal they can hold.

    Where the server learns sums it is at most this: devices that were away would have made each share smaller.
    """
    method, known = group.method_of(agreed), [n for n in counts if n]
    ratios = [
        noise_over_signal(_mechanism(agreed, method.privacy, n), n_params=method.n_sent, counts=[n]) for n in known
    ]
    found = [ratio for ratio in ratios if ratio is not None]
    # Signals of rounds add up, their noise by its square.
    return math.sqrt(math.fsum(ratio**2 for ratio in found)) / len(found) if found else None


def _mechanism(agreed: Terms, privacy: Mechanism, n_updates: int) -> Mechanism:
    """What the devices of a round did: where the server learns sums, each added its share of the noise.

    The share is larger the fewer members count as honest; their number follows from the cohort's, at least `n_updates`.
    """
    if agreed.mode == "open" or not isinstance(privacy, Gaussian):
        return privacy
    n_parts = 1 if agreed.mode == "sealed" else max(n_updates // PART, 1)
    n_honest = honest_arrivals(least_arrivals(n_updates // n_parts), agreed.mode)
    return msgspec.structs.replace(privacy, distributed=True, n_clients=max(n_honest, 1))


def with_noise(agreed: Terms, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rounds of federation_server.rounds.history, newest first, with what chance and noise alone would give.

    `noise` is that of the round, `noise_so_far` that of all closed rounds of its lineage among `rows` up to it;
    `noise_length` is how far the round's noise alone moves the ranker.
    """
    clip = getattr(group.method_of(agreed).privacy, "clip", 0.0)
    counts: dict[int, list[int]] = {}
    found = []
    for row in reversed(rows):
        told = dict(row, chance=None, noise=None, noise_so_far=None, noise_length=None)
        if row["state"] == "closed":
            so_far = counts.setdefault(row["lineage"], [])
            so_far.append(0 if row["rule"] == "void" else row["n_updates"])  # a lost round moved nothing
            told |= {"chance": chance(so_far[-1]), "noise": noise(agreed, so_far[-1:])}
            told["noise_so_far"] = noise(agreed, so_far)
            told["noise_length"] = told["noise"] * clip if told["noise"] is not None else None
        found.append(told)
    return found[::-1]


def mechanism_in_words(agreed: Terms) -> str:
    """What devices do to an update before it leaves them, and by which settings."""
    (_, name), *others = agreed.settings["privacy"].items()
    if name in ("none", "fpdgd-paper"):
        done = "updates leave devices unprotected"
    else:
        share = "noise" if agreed.mode == "open" else "its share of noise"
        done = f"each device limits how much an update tells, and adds {share} to it"
    return f"{done} ({', '.join([name, *(f'{key} {value}' for key, value in others)])})"


def members_in_words(connection: Connection, agreed: Terms, *, now: int) -> str:
    """How many a round needs, in a sealed group who brought them in and must be honest; whose time is nearly over."""
    soon = select(func.count(), func.min(members.c.expires)).where(members.c.expires <= now + 30 * DAY, is_active(now))
    n, first = connection.execute(soon).one()
    ending = f"; ending within 30 days: {n:,}, the first on {iso_day(first)} (retention.member_days)" if n else ""
    return _needed(connection, agreed) + ending


def _needed(connection: Connection, agreed: Terms) -> str:
    if agreed.mode == "open":
        return f"a round needs at least {agreed.floor}"
    vouched = roster_book.state(connection).vouched
    held, wanted = quorums(len(vouched), agreed.mode), least_members(agreed.mode)
    brought = max(Counter(one.voucher for one in vouched if one.voucher >= 0).values(), default=0)
    by_one = f", {brought:,} of them by one member" if brought > 1 else ""
    needed = f"{len(vouched):,} vouched for{by_one}; a {agreed.mode} round needs at least {wanted}"
    if len(vouched) < wanted:
        return needed
    return (
        f"{needed}; what members are told holds while at most {held.n_spared:,} of {held.n_members:,} side with the "
        "operator"
    )
