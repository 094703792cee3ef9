"""Rounds of FPDGD from end to end, compiled: every client learns, noise is added, the server joins, and so on.

A call goes over many rounds, so that what it costs to enter compiled code is paid once for all of them.
`between_rounds` says which of foltr's noise, attacks and rules have a compiled twin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foltr.arrays import FloatVector, Int64Vector
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.rows import shares
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import Joining, weights
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD
from foltr.privacy.mechanisms import FpdgdPaper, Mechanism, NoPrivacy
from simulation.attacks.fang_krum import FangKrum
from simulation.attacks.fang_trimmed import FangTrimmed
from simulation.attacks.lie import LittleIsEnough
from simulation.attacks.opposed import Opposed
from simulation.attacks.settings import AttackSettings
from simulation.batched import kernel
from simulation.batched.attacks import (
    FANG_KRUM,
    FANG_TRIMMED,
    FULL,
    LIE,
    NONE,
    OPPOSED,
    OWN_EXTREMES,
    PARTIAL,
    Attack,
    send,
)
from simulation.batched.gamma_noise import Noise, add_noise
from simulation.batched.pdgd_linear import copy_to, linear_clients
from simulation.batched.pdgd_neural import neural_clients
from simulation.batched.rules import KRUM, MEAN, TRIMMED, Rule, join
from simulation.rounds.federation import Population

DONE, NOT_FINITE, NOT_JOINED = range(3)
"""How a call ends: all rounds are over; scores stopped being finite; or the rule met a number it cannot use."""


@kernel()
def linear_rounds(pages, sheet, room, steps, noise, attack, rule, theta, thetas, ended, streams, sums):  # type: ignore[no-untyped-def]
    """A round for each row of `sums` `[n_rounds, 4]`, in which the metrics of its pages are added up.

    `theta` `[n_sent]` is moved on; `thetas` `[n_clients, n_params]` are lost but for what is not sent. What each client
    ends its last round with is in `ended`, `[n_clients, n_params]`, or empty where nobody asks. `streams` are states:
    those of users and of devices, each `[n_clients, 4]`, and of attackers `[4]`. Returns how many rounds are over, and
    how it ends.
    """
    for done in range(len(sums)):
        begin(theta, thetas)
        if not linear_clients(pages, sheet, room, steps, thetas, streams[0], sums[done]):
            return done, NOT_FINITE
        if not close(noise, attack, rule, theta, thetas, ended, streams):
            return done, NOT_JOINED
    return len(sums), DONE


@kernel()
def neural_rounds(pages, sheet, room, steps, noise, attack, rule, theta, thetas, ended, streams, sums):  # type: ignore[no-untyped-def]
    """As `linear_rounds`, with thetas laid out by `simulation.batched.pdgd_neural.feature_by_feature`."""
    for done in range(len(sums)):
        begin(theta, thetas)
        if not neural_clients(pages, sheet, room, steps, thetas, streams[0], sums[done]):
            return done, NOT_FINITE
        if not close(noise, attack, rule, theta, thetas, ended, streams):
            return done, NOT_JOINED
    return len(sums), DONE


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
        send(attack, theta, thetas, attacker)
    return join(rule, theta, thetas)


@kernel()
def release(noise, thetas, devices):  # type: ignore[no-untyped-def]
    """What leaves the devices in the place of what they learned; they have held it within the mechanism's bound."""
    if noise.n_shares > 0:
        for client in range(len(thetas)):
            add_noise(noise, thetas[client], devices[client])


MOST_ROWS = 128
"""rows beyond which foltr's own rules are faster"""
_KNOWLEDGE = {"full": FULL, "partial": PARTIAL, "own-extremes": OWN_EXTREMES}


class Between(NamedTuple):
    """What happens between two rounds, where it is compiled."""

    noise: Noise
    attack: Attack | None
    rule: Rule


def between_rounds(method: FPDGD, model: Model, population: Population, places: Int64Vector) -> Between | None:
    """None where foltr's own functions are needed: for their noise, guard, rule, memory or errors, or for an attack."""
    if type(method) is not FPDGD or model.moments or method.guard:
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


def attack_of(attack: AttackSettings | None, n_clients: int, n_malicious: int, places: Int64Vector) -> Attack | None:
    """The compiled attack; None for one that is not."""
    kind, z, ddof, knowledge, squared = NONE, 0.0, 0, FULL, False
    if attack is None or not n_malicious or type(attack).send is AttackSettings.send:
        n_malicious = 0
    elif isinstance(attack, Opposed):
        kind, z = OPPOSED, attack.z
    elif isinstance(attack, LittleIsEnough):
        kind, z, ddof = LIE, attack.shift(n_clients, n_malicious), attack.ddof
    elif isinstance(attack, FangKrum):
        kind, knowledge, squared = FANG_KRUM, _KNOWLEDGE[attack.knowledge], attack.distance == "squared"
    elif isinstance(attack, FangTrimmed):
        kind, knowledge = FANG_TRIMMED, _KNOWLEDGE[attack.knowledge]
    else:
        return None
    n_between, n_params = n_clients + 1 if kind == FANG_KRUM else 0, len(places)
    room = np.empty(n_params), np.empty(n_params), np.empty(n_params), np.empty((n_between, n_between))
    return Attack(kind, n_malicious, z, ddof, knowledge, squared, places, *room, np.empty(2 * n_clients + 1))


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
