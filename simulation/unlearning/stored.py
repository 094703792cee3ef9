"""Ways that ask nobody anything: the server adds up again what it kept of the others.

Re-aggregation adds up the others' stored *updates*, from the ranker before the leavers. The program published with the
study of 2025 (Tao et al., SIGIR) averages the others' stored *rankers* of each round and calls it FedRemove: every one
of them was learned from a common ranker that the leavers had moved, so the last, too, is the one to be forgotten, less
the leavers' share of one round.
"""

from __future__ import annotations

from collections.abc import Iterator

from foltr.federated.unlearning import reaggregate
from simulation.unlearning.past import Past, Step, UnlearningSettings


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
