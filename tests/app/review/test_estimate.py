from __future__ import annotations

from math import comb

import numpy as np
import pytest

from app.review import estimate as module
from app.review.estimate import SURE, estimate


def flags(text: str) -> np.ndarray:  # type: ignore[type-arg]
    """ "x" for a document that matters, "." for another."""
    return np.array([sign == "x" for sign in text])


def test_one_curve_is_worked_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """s = 1, k = 1, three of four read, six in all: m left has (m + 2 over m) p^3 (1 - p)^m, p = H / (H + T)."""
    monkeypatch.setattr(module, "FALLS", (1.0,))
    monkeypatch.setattr(module, "N_SCALES", 1)
    read = 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5
    p = read / (read + 1 / 6 + 1 / 7)
    below = np.cumsum([comb(m + 2, m) * p**3 * (1 - p) ** m for m in range(3)])
    found = estimate(flags("xx.x"), 6)
    assert 0.5 < below[0] < below[2] < SURE
    assert (found.n_found, found.n_read, found.n_left) == (3, 4, 0)
    assert found.most_left == 2  # two are unread
    assert found.sure_share == 3 / (3 + 2)


def test_before_anything_is_known_all_may_matter() -> None:
    """With nothing read, or next to nothing found."""
    for read in ("", ".....", "x", "x.x"):
        found = estimate(flags(read), 100)
        assert (found.n_left, found.most_left) == (100 - len(read),) * 2 or read.count("x") >= module.LEAST_FOUND
    assert estimate(flags(""), 0).sure_share == 0


def test_when_all_is_read_nothing_is_left() -> None:
    """The estimate becomes certain."""
    found = estimate(flags("xxx...x."), 8)
    assert (found.n_left, found.most_left, found.sure_share) == (0, 0, 1)


def test_a_long_silence_makes_sure() -> None:
    """The longer nothing was found, the fewer may be left; a recent find allows for more."""
    silent = [estimate(flags("x" * 20 + "." * n), 1_000).most_left for n in (0, 20, 80, 300, 900)]
    assert silent == sorted(silent, reverse=True)
    assert silent[-1] <= 1 < 20 < silent[0]
    assert estimate(flags("x" * 20 + "." * 60 + "x"), 1_000).most_left > estimate(
        flags("x" * 20 + "." * 61), 1_000
    ).most_left  # fmt: skip


def test_where_nothing_thins_out_no_promise_is_made() -> None:
    """If every third one matters all along, about a third of the rest is left, and it may be all."""
    found = estimate(np.arange(300) % 3 == 0, 100_000)
    assert 5_000 < found.n_left < 60_000
    assert found.most_left == 99_700
    assert found.sure_share < 0.002


def test_of_rates_of_that_form_the_promise_holds() -> None:
    """Drawn from curves of the family, no more than `most_left` are left in as many cases as it says, and the middle
    is met by half."""
    luck, held, below = np.random.default_rng(0), [], []
    for _ in range(300):
        n, read = 400, int(luck.integers(60, 300))
        scale, fall = luck.uniform(5, 60), luck.choice([1.0, 2.0, 4.0])
        rate = np.minimum(0.9 * (1 + np.arange(1, n + 1) / scale) ** -fall, 1)
        matters = luck.random(n) < rate
        found = estimate(matters[:read], n)
        left = int(matters[read:].sum())
        held.append(left <= found.most_left)
        below.append(left <= found.n_left)
    assert np.mean(held) >= SURE - 0.02
    assert 0.4 <= np.mean(below) <= 0.9
