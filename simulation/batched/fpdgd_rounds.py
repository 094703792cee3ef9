"""Rounds of FPDGD, compiled: the same theta as the four verbs on the same streams.

Features of 32 bits are scored in 32 bits; theta stays in 64. Features of 64 bits give what the four verbs give, up to
the order in which products are added.

Where everything between two rounds is compiled too (`between_rounds`: which of foltr's noise, attacks and rules have a
compiled twin), many run in one call, so that the cost of entering compiled code is paid once for all of them; else the
clients' pages are compiled, and foltr's own functions add noise and join.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, Int64Vector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.rows import check_rows, shares
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import Joining, weights
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD
from foltr.privacy.mechanisms import FpdgdPaper, Mechanism, NoPrivacy
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.attacks import AttackSettings
from simulation.attacks.backwards import Opposed
from simulation.attacks.fang import FangKrum, FangTrimmed
from simulation.attacks.lie import LittleIsEnough
from simulation.batched import attacks, kernel
from simulation.batched.pages import Pages, alone, next_query, pages_of, to_shown
from simulation.batched.pdgd_linear import (
    Steps,
    ascend,
    copy_to,
    draw_back,
    hold_within,
    linear_room,
    linear_scores,
    new_sheet,
    visit,
)
from simulation.batched.pdgd_neural import feature_by_feature, neural_ascend, neural_room, neural_scores, unit_by_unit
from simulation.batched.random_numbers import Noise, add_noise
from simulation.batched.rules import KRUM, MEAN, TRIMMED, Rule, join
from simulation.batched.step_method import StepMethod, step_of, take_step
from simulation.rounds import federation
from simulation.rounds.federation import Population, Shown
from simulation.rounds.streams import Streams, keep_states, states_of

VERBS = ("begin", "rank", "learn", "report", "aggregate")
"""a method that has one of its own is played by all of its own"""
TOO_FAR = "scores must be finite; the learning rate may be too high"


def run_round(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round of FPDGD; see `play`."""
    model, (shown,) = play(method, model, population, streams, 1)
    return model, shown


def play(
    method: FPDGD, model: Model, population: Population, streams: Streams, n_rounds: int
) -> tuple[Model, list[Shown]]:
    """So many rounds of FPDGD; by the four verbs for what is not compiled: see `is_compiled`.

    ShapeError for a theta or features that do not fit the ranker; ValueRangeError when scores stop being finite.
    """
    if not is_compiled(method):
        return federation.repeated(federation.run_round)(method, model, population, streams, n_rounds)
    _check(method, model, population)
    between = between_rounds(method, model, population, _places(method))
    if between is None:
        return _joined_by_foltr(method, model, population, streams, n_rounds)
    return _whole_rounds(method, between, model, population, streams, n_rounds)


def is_compiled(method: FPDGD) -> bool:
    """Whether there is a kernel for it: a Linear or Neural ranker, learned whole, no step capped."""
    own = all(getattr(type(method), verb) in (getattr(FPDGD, verb), getattr(StepMethod, verb)) for verb in VERBS)
    capped = method.longest_step is not None or method.longest_query is not None
    hidden = method.personal and not isinstance(method.privacy, NoPrivacy)
    return own and isinstance(method.ranker, (Linear, Neural)) and not (method.shared or capped or hidden)


def _whole_rounds(
    method: FPDGD, between: Between, model: Model, population: Population, streams: Streams, n_rounds: int
) -> tuple[Model, list[Shown]]:
    """Rounds from end to end in one call."""
    pages, sums, theta = pages_of(population), np.zeros((n_rounds, 4)), _laid_out(method.ranker, model.theta[None])[0]
    thetas = _begin(method, model, population)
    ended = np.empty_like(thetas if population.personal is not None else thetas[:0])
    devices = streams.devices if between.noise.n_shares else ()
    states = streams.users, states_of(devices), states_of((streams.attacker,))[0]
    desk = _desk(method, pages, population.local)
    done, how = play_rounds(pages, *desk, *between, theta[: method.n_sent], thetas, ended, states, sums)
    if how == NOT_FINITE:
        raise _stopped(method, desk)
    if how == NOT_JOINED:
        check_rows(_as_sent(method.ranker, thetas))
    keep_states((*devices, streams.attacker), (*states[1], states[2]))
    if population.personal is not None:
        population.personal[:] = _as_sent(method.ranker, ended)
    after = replace(model, theta=_as_sent(method.ranker, theta[None])[0], round=model.round + done)
    n_pages = int(population.local.sum())
    return after, [to_shown(row, n_pages) for row in sums]


def _joined_by_foltr(
    method: FPDGD, model: Model, population: Population, streams: Streams, n_rounds: int
) -> tuple[Model, list[Shown]]:
    """Rounds of compiled pages, each joined by foltr."""
    report, seen = _reporting(method, population), []
    for _ in range(n_rounds):
        thetas, shown = report(model, streams)
        thetas = federation.attacked_thetas(method, model, thetas, population, streams)
        model = federation.joined_thetas(method, model, thetas, population)
        seen.append(shown)
    return model, seen


def reported_thetas(method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[FloatMatrix, Shown]:
    """What every client of a round reports `[n_clients, n_sent]`, before the server joins it.

    The messages of the four verbs, with the errors of `run_round`; ValueRangeError for what is not compiled.
    """
    if not is_compiled(method):
        raise ValueRangeError("shared, capped and hidden personal weights are not compiled: use the four verbs")
    _check(method, model, population)
    return _reporting(method, population)(model, streams)


def _reporting(method: FPDGD, population: Population) -> Callable[[Model, Streams], tuple[FloatMatrix, Shown]]:
    """`reported_thetas` of each round, with what is the same for all of them."""
    pages, noise, local = pages_of(population), noise_of(method.privacy, _places(method)), population.local
    desk = _desk(method, pages, local)

    def report(model: Model, streams: Streams) -> tuple[FloatMatrix, Shown]:
        thetas, sums = _begin(method, model, population), np.zeros(4)
        if not play_clients(pages, *desk, thetas, streams.users, sums):
            raise _stopped(method, desk)
        if population.personal is not None:
            population.personal[:] = _as_sent(method.ranker, thetas)
        if noise is not None and noise.n_shares:
            states = states_of(streams.devices)
            release(noise, thetas, states)
            keep_states(streams.devices, [*states])
        thetas = _as_sent(method.ranker, thetas)
        if noise is None:
            released = zip(thetas, streams.devices, strict=True)
            thetas = np.array([method.privacy.release(model.theta, theta, device) for theta, device in released])
        return thetas[:, : method.n_sent], to_shown(sums, int(local.sum()))

    return report


def learned_alone(
    method: FPDGD, population: Population, streams: Streams, client: int, theta: FloatVector
) -> tuple[FloatVector, Shown]:
    """The ranker of one client `[n_params]` after the pages of a round that it begins with `theta` `[n_params]`.

    Of a method that `is_compiled`, without privacy; ValueRangeError when scores stop being finite.
    """
    row, sums = slice(client, client + 1), np.zeros(4)
    pages, local = alone(pages_of(population), client), population.local[row]
    thetas, desk = _laid_out(method.ranker, theta[None]), _desk(method, pages, local)
    if not play_clients(pages, *desk, thetas, streams.users[row], sums):
        raise _stopped(method, desk)
    return _as_sent(method.ranker, thetas)[0], to_shown(sums, int(local[0]))


def _check(method: FPDGD, model: Model, population: Population) -> None:
    n_params, n_features = method.ranker.n_params, method.ranker.n_features
    if model.theta.shape != (n_params,):
        raise ShapeError(f"theta must be [{n_params}], not {list(model.theta.shape)}")
    if population.data.n_features != n_features:
        raise ShapeError(f"features must be [n_docs, {n_features}], not {list(population.data.features.shape)}")


def _begin(method: FPDGD, model: Model, population: Population) -> FloatMatrix:
    """What every client begins with, laid out for learning: the common ranker, and its own part where it keeps one."""
    if population.personal is None:
        return _laid_out(method.ranker, np.repeat(model.theta[None, :], population.n_clients, axis=0))
    return _laid_out(method.ranker, np.array([method.with_personal(model.theta, own) for own in population.personal]))


def _desk(method: FPDGD, pages: Pages, local: Int64Vector) -> tuple[Any, ...]:
    """Room for a page and for a client, how clients learn, whether by a net, and by which step of their own."""
    sheet, net = new_sheet(pages.longest, len(pages.discounts)), isinstance(method.ranker, Neural) or None
    room = neural_room(pages, method.ranker.n_hidden) if isinstance(method.ranker, Neural) else linear_room(pages)
    bound = method.privacy.local_bound
    radius = np.inf if bound is None else bound
    each, scale = method.update == "each", 1.0 / method.temperature
    steps = Steps(local, method.learning_rate, scale, each, radius, method.proximal)
    return sheet, room, steps, net, *(step_of(method, pages) if isinstance(method, StepMethod) else (None, None))


def _stopped(method: FPDGD, desk: tuple[Any, ...]) -> ValueRangeError:
    """Why the pages stopped."""
    own = desk[-1]
    if own is None or not np.isnan(own.numbers[0]):
        return ValueRangeError(TOO_FAR)
    return ValueRangeError(f"{type(method).__name__}.step failed on a page; NUMBA_DISABLE_JIT=1 says at which line")


def _laid_out(ranker: Ranker, thetas: FloatMatrix) -> FloatMatrix:
    """foltr's thetas `[n_clients, n_params]` as they are learned; what is sent comes first in both."""
    return feature_by_feature(thetas, ranker.n_hidden) if isinstance(ranker, Neural) else thetas.copy()


def _as_sent(ranker: Ranker, thetas: FloatMatrix) -> FloatMatrix:
    """The inverse of `_laid_out`."""
    return unit_by_unit(thetas, ranker.n_hidden) if isinstance(ranker, Neural) else thetas


def _places(method: FPDGD) -> Int64Vector:
    """The column that each weight that is sent `[n_sent]` has where it is learned."""
    numbered: FloatVector = _laid_out(method.ranker, np.arange(float(method.ranker.n_params))[None])[0]
    return np.argsort(numbered)[: method.n_sent]


DONE, NOT_FINITE, NOT_JOINED = range(3)
"""How a call ends: all rounds are over; scores stopped being finite; or the rule met a number it cannot use."""


@kernel()
def play_rounds(pages, sheet, room, steps, net, step, own, noise, attack, rule, theta, thetas, ended, streams, sums):  # type: ignore[no-untyped-def]
    """A round for each row of `sums` `[n_rounds, 4]`, in which the metrics of its pages are added up.

    `theta` `[n_sent]` is moved on; `thetas` `[n_clients, n_params]` are lost but for what is not sent. What each client
    ends its last round with is in `ended`, `[n_clients, n_params]`, or empty where nobody asks. `streams` are states:
    those of users and of devices, each `[n_clients, 4]`, and of attackers `[4]`. Returns how many rounds are over, and
    how it ends.
    """
    for done in range(len(sums)):
        begin(theta, thetas)
        if not play_clients(pages, sheet, room, steps, net, step, own, thetas, streams[0], sums[done]):
            return done, NOT_FINITE
        if not close(noise, attack, rule, theta, thetas, ended, streams):
            return done, NOT_JOINED
    return len(sums), DONE


@kernel()
def play_clients(pages, sheet, room, steps, net, step, own, thetas, states, sums):  # type: ignore[no-untyped-def]
    """The pages of a round of every client, from its row of `thetas` `[n_clients, n_params]` and of `states`.

    `net` is None for a linear ranker, else thetas lie as `feature_by_feature` has them; `step` and `own` are those of
    `step_of`, or None for PDGD's. What is None is compiled for nobody. False when scores stopped being finite, or a
    step failed.
    """
    rate, drawn_back = steps.rate * steps.scale, steps.rate * steps.proximal
    for client in range(len(thetas)):
        theta, state = thetas[client], states[client]
        copy_to(room.start, theta)
        copy_to(room.ranker, theta)
        for _ in range(steps.n_local[client]):
            query = next_query(pages, client, state)
            first, last = pages.offsets[query], pages.offsets[query + 1]
            if net is None:
                top = linear_scores(pages.features, first, last, room.ranker, steps.scale, sheet.scores)
            else:
                top = neural_scores(pages.features, first, last, room, steps.scale, sheet.scores)
            seen = visit(pages, sheet, client, query, top, state, sums)
            if seen < 0:
                return False
            if step is not None:
                k = min(len(pages.discounts), last - first)
                if not take_step(theta, step, own, pages, sheet, first, k, seen, steps.scale):
                    return False
            else:
                draw_back(theta, room.start, drawn_back)
                if seen > 0:
                    if net is None:
                        ascend(theta, room.slope, pages.features, first, sheet.ranking, sheet.wanted, seen, rate)
                    else:
                        neural_ascend(theta, pages.features, first, sheet, seen, rate, room)
            if steps.each and (step is not None or seen > 0 or steps.radius < np.inf or drawn_back > 0.0):
                hold_within(theta, steps.radius)
                copy_to(room.ranker, theta)
        if step is None:
            hold_within(theta, steps.radius)
    return True


@kernel()
def begin(theta, thetas):  # type: ignore[no-untyped-def]
    """Every client takes the common weights `theta` `[n_sent]`, which come first in its row of `thetas`."""
    for client in range(len(thetas)):
        for f in range(len(theta)):
            thetas[client, f] = theta[f]


@kernel()
def close(noise, attack, rule, theta, thetas, ended, streams):  # type: ignore[no-untyped-def]
    """What is between the pages of a round and the next: kept, noised, attacked, joined; or False."""
    _, devices, attacker = streams
    for client in range(len(ended)):
        copy_to(ended[client], thetas[client])
    release(noise, thetas, devices)
    if attack is not None:  # so that nobody compiles it who has none
        attacks.send(attack, theta, thetas, attacker)
    return join(rule, theta, thetas)


@kernel()
def release(noise, thetas, devices):  # type: ignore[no-untyped-def]
    """What leaves the devices in place of what they learned, which they have held within the mechanism's bound."""
    if noise.n_shares > 0:
        for client in range(len(thetas)):
            add_noise(noise, thetas[client], devices[client])


MOST_ROWS = 128
"""rows beyond which foltr's own rules are faster"""
_KNOWLEDGE = {"full": attacks.FULL, "partial": attacks.PARTIAL, "own-extremes": attacks.OWN_EXTREMES}


class Between(NamedTuple):
    """What happens between two rounds, where it is compiled."""

    noise: Noise
    attack: attacks.Attack | None
    rule: Rule


def between_rounds(method: FPDGD, model: Model, population: Population, places: Int64Vector) -> Between | None:
    """None where foltr's own functions are needed: for their noise, guard, rule, memory or errors, or for an attack."""
    own_server = type(method) is not FPDGD and not isinstance(method, StepMethod)
    if own_server or type(method).joined is not FPDGD.joined or model.moments or method.guard:
        return None
    counts = weights(method.joining, population.local, equal=method.weighs_alike)
    noise = noise_of(method.privacy, places)
    attack = attack_of(population.attack, population.n_clients, population.n_malicious, places)
    rule = rule_of(method.joining, shares(counts, len(counts)))
    if noise is None or attack is None or rule is None:
        return None
    return Between(noise, attack if attack.n_malicious else None, rule)


def noise_of(privacy: Mechanism, places: Int64Vector) -> Noise | None:
    """The compiled noise; None for a mechanism that only foltr has."""
    if isinstance(privacy, NoPrivacy):
        return Noise(0, 0.0, places)
    if isinstance(privacy, FpdgdPaper):
        return Noise(privacy.n_clients, privacy.sensitivity / privacy.epsilon, places)
    return None


def attack_of(
    attack: AttackSettings | None, n_clients: int, n_malicious: int, places: Int64Vector
) -> attacks.Attack | None:
    """The compiled attack; None for one that is not."""
    kind, z, ddof, knowledge, squared = attacks.NONE, 0.0, 0, attacks.FULL, False
    if attack is None or not n_malicious or type(attack).send is AttackSettings.send:
        n_malicious = 0
    elif isinstance(attack, Opposed):
        kind, z = attacks.OPPOSED, attack.z
    elif isinstance(attack, LittleIsEnough):
        kind, z, ddof = attacks.LIE, attack.shift(n_clients, n_malicious), attack.ddof
    elif isinstance(attack, FangKrum):
        kind, knowledge, squared = attacks.FANG_KRUM, _KNOWLEDGE[attack.knowledge], attack.distance == "squared"
    elif isinstance(attack, FangTrimmed):
        kind, knowledge = attacks.FANG_TRIMMED, _KNOWLEDGE[attack.knowledge]
    else:
        return None
    n_between, n_params = n_clients + 1 if kind == attacks.FANG_KRUM else 0, len(places)
    room = np.empty(n_params), np.empty(n_params), np.empty(n_params), np.empty((n_between, n_between))
    return attacks.Attack(kind, n_malicious, z, ddof, knowledge, squared, places, *room, np.empty(2 * n_clients + 1))


def rule_of(joining: Joining, shares: FloatVector) -> Rule | None:
    """The compiled rule for clients of those `shares` `[n_clients]`; None for what only foltr has, or refuses."""
    n, rule = len(shares), joining.rule
    refused = n < rule.least_rows or getattr(rule, "n_malicious", 0) < 0 or (getattr(rule, "n_kept", 1) or 1) < 1
    if joining.optimizer != SGD() or n > MOST_ROWS or refused:
        return None
    room = np.empty((n, n) if isinstance(rule, Krum | MultiKrum) else (0, 0)), np.empty(n), np.arange(n)
    if isinstance(rule, Mean):
        return Rule(MEAN, shares, 0, 0, 0, False, *room)
    if isinstance(rule, Median):
        return Rule(TRIMMED, shares, (n - 1) // 2, 0, 0, False, *room)
    if isinstance(rule, TrimmedMean):
        return Rule(TRIMMED, shares, rule.n_malicious, 0, 0, False, *room)
    if isinstance(rule, Krum | MultiKrum):
        kept = 1 if isinstance(rule, Krum) else n - rule.n_malicious if rule.n_kept is None else rule.n_kept
        return Rule(KRUM, shares, 0, n - rule.n_malicious - 2, kept, rule.distance == "squared", *room)
    return None
