"""Ways without a trick: nobody is forgotten, the others go on, or they learn again from before the leavers."""

from __future__ import annotations

from collections.abc import Iterator

from simulation.unlearning.past import Count, Past, Step, UnlearningSettings, without_last


class ForSoLong(UnlearningSettings, frozen=True):
    """A way that may take as long as you like."""

    more: Count | None = None
    """rounds; None: as many as were learned"""

    def rounds(self, together: range) -> int:
        """As many as said, or were learned."""
        return self.more or together.stop - 1


class GoingOn(ForSoLong, frozen=True, tag="none"):
    """Nobody is forgotten and everybody goes on."""

    def forget(self, past: Past) -> Iterator[Step]:
        """From the ranker that was learned, with everyone."""
        return past.go_on(past.now, past.everyone, self.rounds(past.together))


class FineTuning(ForSoLong, frozen=True, tag="fine-tuning"):
    """The others go on; what the leavers taught is left to fade."""

    local: Count | None = None
    """pages of a client in a round; None: as many as before"""

    def forget(self, past: Past) -> Iterator[Step]:
        """From the ranker that was learned, without the leavers."""
        staying = without_last(past.everyone, past.n_leaving, n_local=self.local)
        return past.go_on(past.now, staying, self.rounds(past.together))


class Retraining(ForSoLong, frozen=True, tag="retrain"):
    """The others learn from the beginning: what forgetting should come to (9H-0M of thesis Chapter 6).

    They get the same queries as before, so it is, bit for bit, the run without the leavers.
    """

    def forget(self, past: Past) -> Iterator[Step]:
        """From the very first ranker."""
        return past.go_on(past.start, past.staying, self.rounds(past.together))


class Rollback(UnlearningSettings, frozen=True, tag="rollback"):
    """Back to the last ranker before the leavers, and on from there: exact, as nothing learned later is used.

    It is retraining where they took part from the first round on. The queries are those that the others had before.
    """

    def rounds(self, together: range) -> int:
        """Those that the leavers took part in."""
        return len(together)

    def forget(self, past: Past) -> Iterator[Step]:
        """From the ranker before the leavers' first round."""
        return past.go_on(past.before, past.staying, self.rounds(past.together))
