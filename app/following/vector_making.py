"""Making the vectors of meaning with the user's settings: after `index`, and while changes are followed.

It comes after the text index, gives way to everything else, and goes on where it was stopped or killed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from app.settings import Paths, Settings
from console.printable import display_path
from console.wording import count
from indexer.errors import IndexDamaged, IndexerError, LockedError
from indexer.meaning import encoder, multilingual, vectors
from indexer.meaning.making import EncodingProcess, VectorMaker
from indexer.postings import Floats, Ints
from indexer.progress import OnProgress, Phase, Progress, WorkDone, remaining_seconds
from indexer.storage.catalogue import Catalogue
from indexer.update import disk_errors

if TYPE_CHECKING:
    from app.learning.picks import Picks


class Making:
    """Makes vectors step by step and reports how far it is; nothing at all where there is no encoder."""

    def __init__(
        self, settings: Settings, paths: Paths, catalogue: Catalogue, on_progress: OnProgress, *,
        may_work: Callable[[], str], most_long: int | None = None,
    ) -> None:  # fmt: skip
        """`may_work` says why to pause now, or ""; of long documents `most_long` are read whole, None for all.

        What was made is removed once the user has switched meaning off.
        """
        chosen = settings.meaning
        self._catalogue, self._on_progress, self._may_work = catalogue, on_progress, may_work
        self._since: dict[str, tuple[float, int]] = {}
        """encoder -> when its first step was done, and how many documents it had then"""
        self._makers: list[VectorMaker] = []
        opened_first = _opened_first(settings, paths, catalogue)
        if not chosen.enabled:
            vectors.destroy(paths.index)
        elif not encoder.why_none(chosen.model):
            self._makers.append(VectorMaker(
                catalogue, paths.index, encoder.kind_of(chosen.model),
                lambda: EncodingProcess(partial(encoder.load, chosen.model)), opened_first, most_long,
            ))  # fmt: skip
        if not (chosen.enabled and chosen.languages):
            vectors.destroy(paths.languages)
        elif not multilingual.why_none():
            self._makers.append(VectorMaker(
                catalogue, paths.index, multilingual.KIND, lambda: EncodingProcess(multilingual.load), opened_first, 0,
                paths.languages,
            ))  # fmt: skip

    def step(self) -> bool:
        """Do some of the work; True while more is left that can be done now."""
        return any(map(self._step_of, tuple(self._makers)))

    def _step_of(self, maker: VectorMaker) -> bool:
        if why := self._may_work():
            self.close()
            self._report("idle", note=f"reading for meaning waits: {why}")
            return False
        try:
            with disk_errors(maker.folder):
                more = maker.step()
        except LockedError:
            return False  # another process makes them
        except IndexDamaged:
            raise
        except IndexerError as error:
            maker.close()
            self._report("idle", note=f"cannot read for meaning: {error}")
            if isinstance(error, (encoder.NoEncoder, encoder.EncodingFailed)):
                self._makers.remove(maker)  # no encoder will appear while this process runs; a full disk may get room
            return False
        if more:
            self._report("meaning", n_done=maker.n_done, n_total=maker.n_total, eta_seconds=self._left(maker))
        return more

    def until(self, is_over: Callable[[], bool]) -> str:
        """Make what is missing, at most until `is_over`; returns `said`."""
        while not is_over() and self.step():
            pass
        return self.said

    @property
    def said(self) -> str:
        """What is there now, in one line; "" where nothing is."""
        return "; ".join(filter(None, map(self._said_of, self._makers)))

    @staticmethod
    def _said_of(maker: VectorMaker) -> str:
        if not maker.n_total:
            return ""
        done = count(maker.n_total, "document")
        if maker.n_done < maker.n_total:
            done = f"{maker.n_done:,} of {done}; the next run goes on from there"
        for path, why in itertools.islice(maker.failed.items(), 1):
            done += f"; {len(maker.failed):,} could not be read, such as {display_path(path)} ({why})"
        return f"read for {'other languages' if maker.vectors_in else 'meaning'}: {done}"

    def _left(self, maker: VectorMaker) -> float | None:
        """Seconds to the end, if the rest goes as fast as what this run has done."""
        now = time.monotonic()
        began, done_before = self._since.setdefault(maker.kind.name, (now, maker.n_done))
        texts = WorkDone(maker.n_done - done_before, maker.n_total - done_before)
        return remaining_seconds(now - began, texts, texts)

    def _report(self, phase: Phase, **values: Any) -> None:
        self._on_progress(Progress(phase=phase, generation=self._catalogue.generation, **values))

    def close(self) -> None:
        """Give back what is held until the next step."""
        for maker in self._makers:
            maker.close()


def _opened_first(settings: Settings, paths: Paths, catalogue: Catalogue) -> Callable[[Ints], Floats]:
    """How often each document was opened: the most opened come first."""

    def wanted(doc_ids: Ints) -> Floats:
        with opened_picks(settings, paths, catalogue) as picks:
            if picks is None or not picks.count():
                return np.zeros(len(doc_ids))
            rows = catalogue.documents(doc_ids.tolist())
            asked = [(row.path, row.part, row.type) if (row := rows.get(i)) else ("", "", "") for i in doc_ids.tolist()]
            return np.asarray(picks.usage([], asked, now=time.time()).opened)

    return wanted


@contextmanager
def opened_picks(settings: Settings, paths: Paths, catalogue: Catalogue) -> Iterator[Picks | None]:
    """The memory of what was opened; None where nothing is remembered."""
    if not paths.state.exists() or not settings.learning.remember_picks:
        yield None
        return
    from app.devices.pick_memory import open_picks
    from app.store import Store

    with Store(paths.state) as store:
        yield open_picks(store, paths, catalogue)[0]
