from __future__ import annotations

import numpy as np
import pytest

from app.learning.exploration import explored_order, noise, session_nonce
from app.learning.learner import best_first
from app.store import Store

NOW = 1_800_000_000.0


def test_a_session_ends_after_30_idle_minutes(store: Store) -> None:
    """Searches less than 30 minutes apart share a nonce however long they go on; a longer pause begins another."""
    first = session_nonce(store, now=NOW)
    for minutes in range(0, 200, 20):
        assert session_nonce(store, now=NOW + 60 * minutes) == first
    assert session_nonce(store, now=NOW + 60 * (180 + 31)) != first


def test_a_damaged_or_future_session_is_replaced(store: Store) -> None:
    """Rubbish, and a time far in the future, begin a new session instead of an error."""
    store.set_value("session", b"rubbish")
    first = session_nonce(store, now=NOW)
    assert len(first) == 16
    assert session_nonce(store, now=NOW - 86400) != first


def test_noise_depends_on_session_and_document_only() -> None:
    """The same document has the same noise wherever it stands; another session has other noise."""
    nonce = b"n" * 16
    assert noise(nonce, [3, 1, 2])[0] == noise(nonce, [7, 3])[1]
    assert noise(nonce, [3])[0] != noise(b"m" * 16, [3])[0]
    assert noise(nonce, [-1, b"name", 2**62]).shape == (3,)


def test_noise_is_gumbel() -> None:
    """20,000 documents: mean and variance are Euler's constant and pi^2 / 6, within 5 standard errors."""
    drawn = noise(b"n" * 16, range(20_000))
    assert np.isfinite(drawn).all()
    assert abs(drawn.mean() - 0.5772) < 5 * (np.pi / 6**0.5) / 20_000**0.5
    assert drawn.var() == pytest.approx(np.pi**2 / 6, rel=0.05)


def test_only_the_first_places_explore() -> None:
    """Below rank k the order is by score, and every row appears once."""
    scores = np.linspace(1, 0, 50)
    order = explored_order(scores, noise(b"n" * 16, range(50)), by_score=best_first(scores), k=10, temperature=10.0)
    assert sorted(order.tolist()) == list(range(50))
    assert order[10:].tolist() == sorted(order[10:].tolist())
    assert order[:10].tolist() != list(range(10))


@pytest.mark.parametrize("temperature", [0.0, 1e-320, 1e-9])
def test_no_or_next_to_no_temperature_sorts_by_score(temperature: float) -> None:
    """As the temperature goes to 0 the order goes to that of the scores, ties by row."""
    scores = np.array([0.1, 0.9, 0.5, 0.5])
    gumbel = np.zeros(4)
    assert explored_order(scores, gumbel, by_score=best_first(scores), k=3, temperature=temperature).tolist()[:1] == [1]
    assert explored_order(scores, gumbel, by_score=best_first(scores), k=3, temperature=0.0).tolist() == [1, 2, 3, 0]


def test_the_edges_of_a_session(store: Store) -> None:
    """30 idle minutes are still the same session, a second more is not; so are 60 seconds of a clock set back."""
    first = session_nonce(store, now=NOW)
    assert session_nonce(store, now=NOW + 30 * 60) == first
    second = session_nonce(store, now=NOW + 2 * 30 * 60 + 1)
    assert second != first
    start = NOW + 2 * 30 * 60 + 1
    assert session_nonce(store, now=start - 60) == second
    assert session_nonce(store, now=start - 60 - 61) != second


def test_the_time_of_the_last_search_is_written_once_a_minute(store: Store) -> None:
    """Searches of the same minute leave the record as it is, the first one after it writes its own time."""
    first = session_nonce(store, now=NOW)
    written = store.value("session")
    assert session_nonce(store, now=NOW + 59) == first
    assert store.value("session") == written
    assert session_nonce(store, now=NOW + 60) == first
    assert store.value("session") != written
    assert session_nonce(store, now=NOW + 60 + 30 * 60) == first


def test_places_change_when_luck_outweighs_score_over_temperature() -> None:
    """Scores 1 and .5, noise 0 and .4: at temperature 1 the first leads by .5 - .4, at 2 it loses by .4 - .25."""
    scores, luck = np.array([0.0, 0.5, 1.0, 0.1]), np.array([-9.0, 0.4, 0.0, -9.0])
    assert explored_order(scores, luck, by_score=best_first(scores), k=2, temperature=1.0).tolist() == [2, 1, 3, 0]
    assert explored_order(scores, luck, by_score=best_first(scores), k=2, temperature=2.0).tolist() == [1, 2, 3, 0]


def test_the_smallest_temperature_explores_and_a_smaller_one_does_not() -> None:
    """At .001 a lead of .0001 is worth .1 and loses against noise of 1; below .001 it wins."""
    scores, luck = np.array([1e-4, 0.0]), np.array([0.0, 1.0])
    assert explored_order(scores, luck, by_score=best_first(scores), k=2, temperature=1e-3).tolist() == [1, 0]
    assert explored_order(scores, luck, by_score=best_first(scores), k=2, temperature=0.999e-3).tolist() == [0, 1]


def test_names_of_a_document_have_the_noise_of_their_number() -> None:
    """A number is known by its 8 bytes, little end first and signed, so that every number has a name of its own."""
    nonce = b"n" * 16
    assert noise(nonce, [3, -1]).tolist() == noise(nonce, [b"\3" + bytes(7), b"\xff" * 8]).tolist()
    assert noise(nonce, []).shape == (0,)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_equal_scores_keep_their_order(temperature: float) -> None:
    """Of 300 rows with three different scores the equal ones follow one another by row, below the first place."""
    scores = np.arange(300) % 3 / 2
    expected = sorted(range(300), key=lambda row: (-scores[row], row))
    assert (
        explored_order(scores, np.zeros(300), by_score=best_first(scores), k=1, temperature=temperature).tolist()
        == expected
    )
