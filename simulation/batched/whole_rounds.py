"""Rounds of FPDGD from end to end, compiled: every client learns, noise is added, the server joins, and so on.

A call goes over many rounds, so that what it costs to enter compiled code is paid once for all of them.
"""

from __future__ import annotations

from simulation.batched.attacks import send
from simulation.batched.kernel import kernel
from simulation.batched.noise import add_noise
from simulation.batched.pdgd import copy_to, linear_clients
from simulation.batched.pdgd_neural import neural_clients
from simulation.batched.rules import join

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
