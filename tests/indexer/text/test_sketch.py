"""Sketches: what they estimate, against the Jaccard index counted out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.text.sketch import BUCKETS, resembling, sketch, word_hash

WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=4), max_size=60, unique=True)


def of(words: list[str]) -> bytes:
    return sketch(np.array([word_hash(word) for word in words], dtype=np.int64))


def stacked(*texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(of(words) for words in texts), np.uint8).reshape(-1, BUCKETS)


def words(start: int, n: int) -> list[str]:
    """Words `start` to `start + n` of an endless list, without a digit."""
    return ["".join(chr(97 + int(digit)) for digit in str(i * 7919)) for i in range(start, start + n)]


@given(WORDS, st.randoms())
def test_a_sketch_knows_the_set_of_words_only(own: list[str], random: object) -> None:
    """Whatever their order and number; words with digits do not count."""
    mixed = [*own, "2024", "v2", "a1b"]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert of([*mixed, *mixed]) == of(own)
    assert len(of(own)) == BUCKETS


def test_no_words_resemble_nothing() -> None:
    """Not even each other."""
    assert of([]) == bytes(BUCKETS) == of(["1", "22"])
    pairs, values = resembling(stacked([], [], words(0, 50)), 0.1)
    assert (pairs.tolist(), values.tolist()) == ([], [])


def test_equal_texts_resemble_each_other_wholly() -> None:
    """Pairs name the earlier one first."""
    pairs, values = resembling(stacked(words(0, 30), words(500, 30), words(0, 30)), 0.5)
    assert (pairs.tolist(), values.tolist()) == ([[0, 2]], [1.0])


@pytest.mark.parametrize("n_common", [400, 600, 720])
def test_the_estimate_is_that_of_the_jaccard_index(n_common: int) -> None:
    """Over 200 pairs of 800 words the mean is within three standard errors; Eq. for all 128 buckets in use."""
    truth = n_common / (1600 - n_common)
    estimates = []
    for i in range(200):
        start = 5_000 * i
        pairs, values = resembling(stacked(words(start, 800), words(start + 800 - n_common, 800)), 0.05)
        estimates.append(values[0] if len(pairs) else 0.0)
    error = np.sqrt(truth * (1 - truth) / BUCKETS)
    assert abs(np.mean(estimates) - truth) < 3 * error / np.sqrt(200) + 1 / 255
    assert np.std(estimates) == pytest.approx(error, rel=0.25)


@given(st.lists(WORDS, min_size=2, max_size=6))
def test_looking_at_few_buckets_first_loses_no_close_pair(texts: list[list[str]]) -> None:
    """Against the same estimate for each pair by a loop; only pairs far below what is asked for may be missing."""
    sketches = stacked(*texts)
    pairs, values = resembling(sketches, 0.8)
    found = dict(zip(map(tuple, pairs.tolist()), values.tolist(), strict=True))
    for i in range(len(texts)):
        for j in range(i + 1, len(texts)):
            used = [(a, b) for a, b in zip(sketches[i].tolist(), sketches[j].tolist(), strict=True) if a or b]
            value = sum(a == b for a, b in used) / len(used) if used else 0.0
            assert found.get((i, j), 0.0) == pytest.approx(value if value >= 0.8 else 0.0)
