"""The guard where the noise is not known, compiled: foltr.federated.guard for loops over rounds.

Evidence, hysteresis, copies that count once, and the robust rule of foltr's own definitions, up to the order in which
products are added; squared distances are exact, as in `simulation.batched.rules`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, Int64Vector
from foltr.federated.guard import (
    CHI_SQUARE_MEDIAN,
    DEVIATIONS,
    LEAST_DIMENSION,
    NEAR_BY_CHANCE,
    NORMAL,
    REACH,
    TINY,
    Guard,
    drift_floor,
    least_updates,
)
from foltr.federated.joining import Joining, malicious
from foltr.federated.verdict import GuardState, RunningSums
from simulation.batched.kernel import IN_ANY_ORDER, kernel
from simulation.batched.rules import (
    MOST_ROWS,
    add_joined,
    nearest_sum,
    sort_columns,
    squared_distances,
    subtract,
    usable,
)

LENGTH, DIRECTION, LONELINESS, CLOSENESS, SLANT, TURNED, DRIFT = range(7)
"""of the numbers that describe a client; SLANT and TURNED are one reason"""
ALERT, CALM = range(2)
ROUNDS, ALERTS, SUSPECTED_MALICIOUS, SUSPECTED_HONEST = range(4)


class Watch(NamedTuple):
    """A guard over a number of clients, what it remembers and has seen, with room to work in."""

    n_malicious: int
    """m, assumed"""
    calm_rounds: int
    calm_below: float
    n_honest: int
    """the first clients, which is for those who judge the guard"""
    memory: Int64Vector
    """[2] at ALERT and CALM, from round to round"""
    seen: Int64Vector
    """[4] counts at ROUNDS to SUSPECTED_HONEST"""
    n_rounds: Int64Vector
    """[n_clients] in which each had something to say, where an account is kept"""
    sums: FloatMatrix
    """[n_clients, n_sent] the account of foltr.federated.drift; [0, n_sent] where none is kept"""
    drift_floor: float
    evidence: FloatMatrix
    """[7, n_clients] of the round"""
    clients: Int64Vector
    """[n_clients] those whose updates are not 0, then those whose updates are copies"""
    labels: Int64Vector
    """[n_clients] room: which set of copies"""
    rows: FloatMatrix
    """[n_clients, n_sent] room, as the next"""
    others: FloatMatrix
    middle: FloatVector
    """[n_sent] room"""
    lengths: FloatVector
    """[n_clients] room"""
    between: FloatMatrix
    """[n_clients, n_clients] room for distances"""
    line: FloatVector
    """room for the numbers of which a median is wanted: of parameters, clients or pairs of clients"""


def watch_of(
    joining: Joining, state: GuardState, n_clients: int, n_malicious: int, places: Int64Vector
) -> Watch | None:
    """The compiled guard with what it remembers; None where foltr's own is needed, or none judges.

    `n_malicious` are the last of the clients, in truth; `places` `[n_sent]` the columns of what is sent.
    """
    m, account, n_sent = malicious(joining, n_clients), state.sums, len(places)
    if account is not None and account.sent.shape != (n_clients, n_sent):
        return None
    if not joining.guard or joining.noise is not None or m < 1 or not least_updates(m) <= n_clients <= MOST_ROWS:
        return None
    guard, known = Guard(n_malicious=m), account or RunningSums.none(0, n_sent)
    square, n_line = (n_clients, n_clients), max(n_sent, n_clients * n_clients)
    return Watch(
        m, guard.calm_rounds, guard.calm_below, n_clients - n_malicious,
        np.array([state.alert, state.calm]), np.zeros(4, dtype=np.int64), known.n_rounds.astype(np.int64),
        np.ascontiguousarray(known.sent[:, np.argsort(places)]), drift_floor(n_sent), np.zeros((7, n_clients)),
        np.zeros(n_clients, dtype=np.int64), np.zeros(n_clients, dtype=np.int64),
        np.zeros((n_clients, n_sent)), np.zeros((n_clients, n_sent)), np.zeros(n_sent), np.zeros(n_clients),
        np.zeros(square), np.zeros(n_line),
    )  # fmt: skip


def remembered(watch: Watch, before: GuardState, places: Int64Vector) -> GuardState:
    """What foltr's guard would remember now."""
    sums = before.sums and RunningSums(watch.n_rounds.astype(np.intp), watch.sums[:, places], before.sums.counted)
    return replace(before, alert=bool(watch.memory[ALERT]), calm=int(watch.memory[CALM]), sums=sums)


@kernel()
def join_watched(watch, rule, theta, thetas):  # type: ignore[no-untyped-def]
    """As `simulation.batched.rules.join`, after the guard has judged the round."""
    if not usable(thetas, len(theta)):
        return False
    subtract(thetas, theta)
    judge(watch, thetas, len(theta))
    _within_reach(watch, thetas, len(theta))
    if watch.memory[ALERT] != 0:
        add_robustly(watch, theta, thetas)
    else:
        add_joined(rule, theta, thetas)
    return True


@kernel()
def judge(watch, updates, n_sent):  # type: ignore[no-untyped-def]
    """Remember and count what the evidence against `updates` says."""
    weigh(watch, updates, n_sent)
    worst, honest, suspects = 0.0, 0, 0
    for client in range(len(updates)):
        strongest = 0.0
        for reason in range(len(watch.evidence)):
            strongest = max(strongest, watch.evidence[reason, client])
        worst = max(worst, strongest)
        suspects += strongest >= 1.0
        honest += strongest >= 1.0 and client < watch.n_honest
    calm = watch.memory[CALM] + 1 if worst < watch.calm_below else 0
    alert = worst >= 1.0 or (watch.memory[ALERT] != 0 and calm < watch.calm_rounds)
    watch.memory[ALERT], watch.memory[CALM] = alert, calm
    watch.seen[ROUNDS] += 1
    watch.seen[ALERTS] += alert
    watch.seen[SUSPECTED_MALICIOUS] += suspects - honest
    watch.seen[SUSPECTED_HONEST] += honest


@kernel(fastmath=IN_ANY_ORDER)
def weigh(watch, updates, n_sent):  # type: ignore[no-untyped-def]
    """The evidence against each client; none against those whose update is 0, or where too few others are left."""
    m, evidence = watch.n_malicious, watch.evidence
    evidence[:] = 0.0
    if len(watch.sums):
        _remember(watch, updates, n_sent)
        _drift(watch, n_sent)
    n = _moved(watch, updates, n_sent)
    if n < 2 * m + 3:
        return
    rows, lengths, between = watch.rows[:n], watch.lengths[:n], watch.between
    squared_distances(rows, n_sent, between)
    for i in range(n):
        evidence[CLOSENESS, watch.clients[i]] = -0.5 * math.log(max(nearest_sum(between, i, n, 1), TINY))
    _columns_middle(watch, rows, n_sent)
    dimension = _effective_dimension(watch, n, n_sent)
    radius = _middle(watch, lengths, n)
    for i in range(n):
        for f in range(n_sent):
            rows[i, f] *= radius / max(lengths[i], radius)
    _columns_middle(watch, rows, n_sent)
    squared_distances(rows, n_sent, between)
    for i in range(n):
        client = watch.clients[i]
        evidence[LENGTH, client] = math.log(max(lengths[i], TINY))
        evidence[LONELINESS, client] = math.log(max(nearest_sum(between, i, n, n - m - 2), TINY))
        evidence[DIRECTION, client] = -_cosine(rows[i], watch.middle, n_sent)
    _slants(watch, n, n_sent)
    seeming, chance = DEVIATIONS / math.sqrt(dimension), DEVIATIONS / math.sqrt(n_sent)
    _exceed(watch, LENGTH, n, max(math.log(3.0), seeming))
    _exceed(watch, DIRECTION, n, max(0.5, seeming))
    _exceed(watch, LONELINESS, n, max(math.log(4.0), 2.0 * chance))
    _exceed(watch, CLOSENESS, n, max(math.log(3.0), seeming, NEAR_BY_CHANCE / dimension))
    _exceed(watch, SLANT, n, max(0.5, chance))
    _exceed(watch, TURNED, n, max(0.5, chance))


@kernel()
def _moved(watch, updates, n_sent):  # type: ignore[no-untyped-def]
    """Copy the updates that are not 0, of who does not drift, to `watch.rows`, with lengths and clients; how many."""
    n = 0
    for client in range(len(updates)):
        square, some = 0.0, False
        for f in range(n_sent):
            watch.rows[n, f] = updates[client, f]
            square += updates[client, f] * updates[client, f]
            some |= updates[client, f] != 0.0
        watch.lengths[n], watch.clients[n] = math.sqrt(square), client
        n += some and watch.evidence[DRIFT, client] < 1.0
    return n


@kernel(fastmath=IN_ANY_ORDER)
def _remember(watch, updates, n_sent):  # type: ignore[no-untyped-def]
    """foltr.federated.drift.added, to the account."""
    n = _moved(watch, updates, n_sent)
    if n == 0:
        return
    radius = _middle(watch, watch.lengths[:n], n)
    for i in range(n):
        for f in range(n_sent):
            watch.rows[i, f] *= radius / max(watch.lengths[i], radius)
    _columns_middle(watch, watch.rows[:n], n_sent)
    for i in range(n):
        client = watch.clients[i]
        watch.n_rounds[client] += 1
        for f in range(n_sent):
            watch.sums[client, f] += watch.rows[i, f] - watch.middle[f]


@kernel(fastmath=IN_ANY_ORDER)
def _drift(watch, n_sent):  # type: ignore[no-untyped-def]
    """The evidence of the account, by foltr.federated.drift.from_majority."""
    n, rows, between = 0, watch.rows, watch.between
    for client in range(len(watch.sums)):
        if watch.n_rounds[client] > 0:
            watch.clients[n] = client
            for f in range(n_sent):
                rows[n, f] = watch.sums[client, f] / watch.n_rounds[client]
            n += 1
    if n < 2 * watch.n_malicious + 3:
        return
    squared_distances(rows[:n], n_sent, between)
    for i in range(n):
        for j in range(n):
            between[i, j] /= 1.0 / watch.n_rounds[watch.clients[i]] + 1.0 / watch.n_rounds[watch.clients[j]]
    for i in range(n):
        score = nearest_sum(between, i, n, n // 2)
        watch.evidence[DRIFT, watch.clients[i]] = math.log(max(score, TINY)) / 2.0
    _exceed(watch, DRIFT, n, watch.drift_floor)


@kernel(fastmath=IN_ANY_ORDER)
def _within_reach(watch, updates, n_sent):  # type: ignore[no-untyped-def]
    """Updates of who does not drift shortened as by foltr.federated.guard.within_reach."""
    n = _moved(watch, updates, n_sent)
    radius = REACH * _middle(watch, watch.lengths[:n], n) if n else 0.0
    for i in range(n):
        if watch.lengths[i] > radius:
            for f in range(n_sent):
                updates[watch.clients[i], f] *= radius / watch.lengths[i]


@kernel()
def _columns_middle(watch, rows, n_sent):  # type: ignore[no-untyped-def]
    """The median of each parameter, to `watch.middle`."""
    ordered, n = watch.others[: len(rows)], len(rows)
    for i in range(n):
        for f in range(n_sent):
            ordered[i, f] = rows[i, f]
    sort_columns(ordered, n_sent)
    for f in range(n_sent):
        watch.middle[f] = (ordered[(n - 1) // 2, f] + ordered[n // 2, f]) / 2.0


@kernel()
def _middle(watch, values, n):  # type: ignore[no-untyped-def]
    """The median of the first n of `values`, which are kept."""
    for i in range(n):
        watch.line[i] = values[i]
    return _median(watch.line, n)


@kernel()
def _median(line, n):  # type: ignore[no-untyped-def]
    """Of the first n numbers, whose order is lost."""
    high = _select(line, n, n // 2)
    if n % 2:
        return high
    low = line[0]
    for i in range(1, n // 2):
        low = max(low, line[i])
    return (low + high) / 2.0


@kernel()
def _select(line, n, rank):  # type: ignore[no-untyped-def]
    """The number that would be at `rank` if the first n were sorted; none before that place is larger (Hoare)."""
    first, last = 0, n - 1
    while first < last:
        pivot, i, j = line[(first + last) // 2], first, last
        while i <= j:
            while line[i] < pivot:
                i += 1
            while line[j] > pivot:
                j -= 1
            if i <= j:
                line[i], line[j] = line[j], line[i]
                i, j = i + 1, j - 1
        if rank <= j:
            last = j
        elif rank >= i:
            first = i
        else:
            return line[rank]
    return line[rank]


@kernel(fastmath=IN_ANY_ORDER)
def _effective_dimension(watch, n, n_sent):  # type: ignore[no-untyped-def]
    """foltr.federated.guard.effective_dimension of the rows; `watch.others` is lost."""
    unit, line, n_apart = watch.others, watch.line, 0
    for i in range(n):
        square = 0.0
        for f in range(n_sent):
            unit[n_apart, f] = watch.rows[i, f] - watch.middle[f]
            square += unit[n_apart, f] * unit[n_apart, f]
        if square > 0.0:
            for f in range(n_sent):
                unit[n_apart, f] /= math.sqrt(square)
            n_apart += 1
    if n_apart < 2:
        return float(n_sent)
    n_pairs = 0
    for i in range(n_apart):
        for j in range(i):
            cosine = 0.0
            for f in range(n_sent):
                cosine += unit[i, f] * unit[j, f]
            line[n_pairs] = cosine * cosine
            n_pairs += 1
    dimension = CHI_SQUARE_MEDIAN / max(_median(line, n_pairs), 1e-12)
    return min(max(dimension, min(float(LEAST_DIMENSION), float(n_sent))), float(n_sent))


@kernel(fastmath=IN_ANY_ORDER)
def _cosine(one, other, n_sent):  # type: ignore[no-untyped-def]
    """0 where either is 0."""
    product = squares = other_squares = 0.0
    for f in range(n_sent):
        product += one[f] * other[f]
        squares += one[f] * one[f]
        other_squares += other[f] * other[f]
    lengths = math.sqrt(squares * other_squares)
    return product / lengths if lengths > 0.0 else product


@kernel(fastmath=IN_ANY_ORDER)
def _slants(watch, n, n_sent):  # type: ignore[no-untyped-def]
    """foltr.federated.guard.slants of the rows, to the evidence; the rows are lost, and `watch.others`."""
    rows, spread = watch.rows[:n], watch.others[:n]
    for i in range(n):
        for f in range(n_sent):
            rows[i, f] -= watch.middle[f]
            spread[i, f] = abs(rows[i, f])
    sort_columns(spread, n_sent)
    for i in range(n):
        straight = turned = 0.0
        for f in range(n_sent):
            usual = NORMAL * ((spread[(n - 1) // 2, f] + spread[n // 2, f]) / 2.0)
            standard = min(max(rows[i, f] / usual, -3.0), 3.0) if usual > 0.0 else 0.0
            straight += standard
            turned += standard * np.sign(watch.middle[f])
        watch.evidence[SLANT, watch.clients[i]] = straight / n_sent
        watch.evidence[TURNED, watch.clients[i]] = turned / n_sent


@kernel()
def _exceed(watch, reason, n, floor):  # type: ignore[no-untyped-def]
    """Numbers to evidence: their deviation from the median over what is allowed, to either side where it is a slant."""
    evidence, values = watch.evidence[reason], watch.lengths
    for i in range(n):
        values[i] = evidence[watch.clients[i]]
    middle = _middle(watch, values, n)
    for i in range(n):
        values[i] = abs(values[i] - middle)
    allowed = max(floor, DEVIATIONS * NORMAL * _middle(watch, values, n))
    for i in range(n):
        excess = (evidence[watch.clients[i]] - middle) / allowed
        evidence[watch.clients[i]] = abs(excess) if SLANT <= reason <= TURNED else max(excess, 0.0)


@kernel()
def add_robustly(watch, theta, updates):  # type: ignore[no-untyped-def]
    """theta += copies once, mixed with their neighbours, trimmed; as foltr.federated.guard.join_robustly."""
    n_sent = len(theta)
    n = _copies_once(watch, updates, n_sent)
    m = min(watch.n_malicious, (n - 1) // 2)
    rows, mixed, between = watch.rows[:n], watch.others[:n], watch.between
    squared_distances(rows, n_sent, between)
    for i in range(n):
        for f in range(n_sent):
            mixed[i, f] = 0.0
        for _ in range(n - m):
            nearest = 0
            for j in range(1, n):
                nearest = j if between[i, j] < between[i, nearest] else nearest
            between[i, nearest] = np.inf
            for f in range(n_sent):
                mixed[i, f] += rows[nearest, f] / (n - m)
    sort_columns(mixed, n_sent)
    for i in range(m + 1, n - m):
        for f in range(n_sent):
            mixed[m, f] += mixed[i, f]
    for f in range(n_sent):
        theta[f] += mixed[m, f] / (n - 2 * m)


@kernel()
def _copies_once(watch, updates, n_sent):  # type: ignore[no-untyped-def]
    """The updates with copies counted once, to `watch.rows`; how many. As foltr.federated.guard.copies_once."""
    rows, n, n_copies = watch.rows, 0, 0
    for client in range(len(updates)):
        if watch.evidence[CLOSENESS, client] >= 1.0:
            watch.clients[n_copies] = client
            n_copies += 1
        elif watch.evidence[DRIFT, client] < 1.0:
            for f in range(n_sent):
                rows[n, f] = updates[client, f]
            n += 1
    _label_copies(watch, updates, n_copies, n_sent)
    for label in range(n_copies):
        size = 0
        for copy in range(n_copies):
            if watch.labels[copy] == label:
                size += 1
                for f in range(n_sent):
                    before = rows[n, f] if size > 1 else 0.0
                    rows[n, f] = before + updates[watch.clients[copy], f]
        for f in range(n_sent if size else 0):
            rows[n, f] /= size
        n += size > 0
    return n


@kernel()
def _label_copies(watch, updates, n_copies, n_sent):  # type: ignore[no-untyped-def]
    """Which set each of the copies is of, named after the first in it."""
    labels, between, reach = watch.labels, watch.between, 0.0
    copies = watch.others[:n_copies]
    for copy in range(n_copies):
        labels[copy] = copy
        for f in range(n_sent):
            copies[copy, f] = updates[watch.clients[copy], f]
    squared_distances(copies, n_sent, between)
    for copy in range(n_copies):
        nearest = np.inf
        for other in range(n_copies):
            nearest = min(nearest, between[copy, other]) if other != copy else nearest
        reach = max(reach, nearest)
    changed = True
    while changed:
        changed = False
        for copy in range(n_copies):
            for other in range(n_copies):
                if between[copy, other] <= reach and labels[other] < labels[copy]:
                    labels[copy] = labels[other]
                    changed = True
