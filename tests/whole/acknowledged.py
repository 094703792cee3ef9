"""What was acknowledged while many hands work on one folder: what must be there, and what may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

N_RESULTS = 3
"""results that every page has at least"""


@dataclass(slots=True)
class Count:
    """How many there are: known but for what was killed before it was acknowledged."""

    low: int = 0
    high: int = 0

    def add(self, *, is_sure: bool = True) -> None:
        self.low, self.high = self.low + is_sure, self.high + 1

    def holds(self, seen: int) -> bool:
        """Whether `seen` may be; from now on it is that."""
        is_so = self.low <= seen <= self.high
        self.low = self.high = seen
        return is_so

    def became(self, other: Count, *, is_sure: bool) -> None:
        """It is `other` now, or may be."""
        self.low, self.high = (
            (other.low, other.high) if is_sure else (min(self.low, other.low), max(self.high, other.high))
        )


@dataclass(slots=True)
class Named:
    """Values by name; `unsure` are those that may be there in another form, or not at all."""

    sure: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)

    def holds(self, seen: dict[str, str]) -> bool:
        is_so = all(seen.get(name) == self.sure.get(name) for name in {*seen, *self.sure} - self.unsure)
        self.sure, self.unsure = seen, set()
        return is_so

    def became(self, other: Named, *, is_sure: bool) -> None:
        """It is `other` now, or each of its values may be."""
        if is_sure:
            self.sure, self.unsure = dict(other.sure), set(other.unsure)
        else:
            self.unsure.update(self.sure, other.sure, other.unsure)


@dataclass(slots=True)
class Expected:
    picks: Count = field(default_factory=Count)
    lessons: Count = field(default_factory=Count)
    history: Named = field(default_factory=Named)
    saved: Named = field(default_factory=Named)
    ledger: set[tuple[int, int]] = field(default_factory=set)
    """lineage and round of what was spent"""
    answered: set[int] = field(default_factory=set)
    """rounds of the one lineage"""
    words: dict[str, str] = field(default_factory=dict)
    """the word of each document, or that it once had, and its path; "" for one that is gone"""
    backups: set[str] = field(default_factory=set)
    clicks: Count = field(default_factory=Count)
    """results that were opened on pages that taught"""
    kept: Count = field(default_factory=Count)
    """results opened on the page that `open N` speaks of, which teaches when it is left"""
    n_opened: int = N_RESULTS
    screen_opened: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """What a backup holds, and where it lies."""

    path: str
    now: Expected
    history: bool
    has_saved: bool
    """whether the file of saved searches was there: what a backup lacks stays as it is"""


@dataclass(slots=True)
class Command:
    """One command line; `done` is told its output, `killed` that nobody knows."""

    arguments: Sequence[str]
    done: Callable[[str], None] = lambda out: None
    killed: Callable[[], None] = lambda: None
    codes: tuple[int, ...] = (0,)
    refusal: str = "\0"
    """said where nothing was done, and rightly so"""
    variables: dict[str, str] = field(default_factory=dict)
    code: int | None = None
    out: str = ""
    err: str = ""


class Violation(AssertionError):
    """Something that was acknowledged is not there, or two that must agree do not."""
