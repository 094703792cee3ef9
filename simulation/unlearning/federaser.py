"""FedEraser, and two other ways that use what the server kept of the others' updates.

FedEraser: the others replay every delta_t-th round with fewer pages, at the lengths of that time. Liu et al. 2021;
thesis Section 6.1.2; foltr.federated.unlearning has the equations. The program published with the study of 2025 (Tao et
al., SIGIR) does something else, which `lengths` and `between` repeat: the length is that of the clients' mean update,
and the rounds between two kept ones are learned as well, so that no work is saved.

The other two ask nobody anything: the server adds up again what it kept. Re-aggregation adds up the others' stored
*updates*, from the ranker before the leavers. That program averages the others' stored *rankers* of each round and
calls it FedRemove: every one of them was learned from a common ranker that the leavers had moved, so the last one, too,
is the ranker to be forgotten, minus the leavers' share of one round.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Literal

import numpy as np
from msgspec import Struct, field

from foltr import arithmetic
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import Joined
from foltr.federated.method import Model
from foltr.federated.unlearning import calibrate_lengths, reaggregate
from simulation.unlearning.past import Count, KeptRound, Past, Step, UnlearningSettings, with_server, without_last


class FedEraser(UnlearningSettings, frozen=True, tag="federaser"):
    """Replay at the old lengths (Eq. 6.1, 6.2)."""

    every: Count = 10
    """delta_t: of every so many rounds, beginning with the leavers' first, updates are kept"""
    local: Count = 3
    """n': pages of a client in a replayed round"""
    lengths: Literal["each", "mean"] = "each"
    """whose: those of each client's own update (Eq. 6.2), or that of their mean, given to the new mean"""
    between: bool = False
    """whether the rounds between two kept ones are learned too, as they come"""

    def kept(self, together: range) -> range:
        """The first of them, and every delta_t-th after it."""
        return together[:: self.every]

    def rounds(self, together: range) -> int:
        """One for each kept round, or for each round."""
        return len(together if self.between else self.kept(together))

    def forget(self, past: Past) -> Iterator[Step]:
        """From the ranker before the leavers' first round."""
        staying = without_last(past.everyone, past.n_leaving, n_local=self.local)
        model, streams = past.before.model, copy.deepcopy(past.fresh)
        yield Step(model)
        for number in range(self.rounds(past.together)):
            kept, plain = divmod(number, self.every) if self.between else (number, 0)
            if plain:
                model, (shown,) = past.play(past.method, model, staying, streams, 1)
                yield Step(model, (shown,))
                continue
            lengths = self._lengths(past.kept[kept], past.n_staying)
            calibration = Calibration(past.method, lengths)
            server = with_server(past.method, calibration.joined)
            model, (shown,) = past.play(server, model, staying, streams, 1)
            yield Step(model, (shown,), calibration.stretch[-1])

    def _lengths(self, then: KeptRound, n_staying: int) -> FloatVector:
        """How long the updates of those who stay were `[n_staying]`; or their mean `[1]`."""
        updates = then.thetas[:n_staying] - then.model.theta
        if self.lengths == "mean":
            updates = updates.mean(axis=0, keepdims=True)
        return arithmetic.lengths(updates)


class Calibration(Struct, frozen=True):
    """A server that gives updates their former lengths."""

    method: FPDGD
    lengths: FloatVector
    """[n_clients]; or [1], that of the mean"""
    stretch: list[float] = field(default_factory=list)
    """how many times longer the updates of each round became"""

    def joined(self, model: Model, thetas: FloatMatrix, n_interactions: FloatVector) -> Joined:
        """As the method joins updates of their former lengths."""
        fresh = thetas - model.theta
        if len(self.lengths) < len(fresh):
            fresh = fresh.mean(axis=0, keepdims=True)
        now = float(arithmetic.lengths(fresh).sum())
        self.stretch.append(float(self.lengths.sum()) / now if now else 1.0)
        moved = model.theta + calibrate_lengths(fresh, self.lengths)
        return self.method.joined(model, np.broadcast_to(moved, thetas.shape), n_interactions)


class _FromStored(UnlearningSettings, frozen=True):
    """What needs every round since the leavers joined."""

    def kept(self, together: range) -> range:
        return together

    def rounds(self, together: range) -> int:
        return len(together)


class Reaggregation(_FromStored, frozen=True, tag="reaggregate"):
    """The others' updates, added up again: foltr.federated.unlearning.reaggregate."""

    def forget(self, past: Past) -> Iterator[Step]:
        """From the ranker before the leavers' first round."""
        yield Step(past.before.model)
        stored = [
            (kept.thetas[: past.n_staying] - kept.model.theta, kept.counts[: past.n_staying]) for kept in past.kept
        ]
        for joined in reaggregate(past.before.model, stored, past.method.joining):
            yield Step(joined.model)


class FedRemove(_FromStored, frozen=True, tag="fedremove"):
    """The others' rankers of each round, joined: what the published program calls FedRemove."""

    def forget(self, past: Past) -> Iterator[Step]:
        """From the ranker before the leavers' first round, of which nothing is left after one step."""
        yield Step(past.before.model)
        for kept in past.kept:
            thetas, counts = kept.thetas[: past.n_staying], kept.counts[: past.n_staying]
            yield Step(past.method.joined(kept.model, thetas, counts).model)
