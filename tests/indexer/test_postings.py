"""Postings as arrays: grouping and the byte code of positions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from indexer.postings import MAX_TF, decode, encode, few_postings, gather, group_postings

NUMBERS = st.lists(st.integers(0, 2**35 - 1) | st.integers(0, 300), max_size=50)


def test_numbers_take_seven_bits_a_byte() -> None:
    """5 is one byte; 300 = 2 * 128 + 44 is 44 with the high bit set, then 2."""
    code, sizes = encode(np.array([5, 300, 127, 128]))
    assert code.tolist() == [5, 44 + 128, 2, 127, 0 + 128, 1]
    assert sizes.tolist() == [1, 2, 1, 2]


@given(NUMBERS)
def test_what_is_encoded_is_decoded(numbers: list[int]) -> None:
    """The code is lossless for every number below 2^35, and its sizes are those of the bytes."""
    code, sizes = encode(np.array(numbers, dtype=np.int64))
    assert decode(code).tolist() == numbers
    assert sizes.tolist() == [max(1, -(-number.bit_length() // 7)) for number in numbers]
    assert int(sizes.sum()) == code.size


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=10))
def test_runs_are_gathered_as_slices_would(data: bytes, bounds: list[tuple[int, int]]) -> None:
    """One array index gives what slicing run by run gives."""
    runs = [(min(a, len(data)), min(a + n, len(data))) for a, n in bounds]
    starts = np.array([a for a, _ in runs], dtype=np.int64)
    sizes = np.array([b - a for a, b in runs], dtype=np.int64)
    gathered = gather(np.frombuffer(data, dtype=np.uint8), starts, sizes)
    assert gathered.tobytes() == b"".join(data[a:b] for a, b in runs)


def test_occurrences_are_grouped_by_term() -> None:
    """ "b" at 0, 2, 300 has the gaps 0, 2, 298; 298 = 2 * 128 + 42."""
    postings = group_postings(np.array([1, 0, 1, 1], dtype=np.int32), np.array([2, 1, 0, 300]), ["a", "b"], 301)[0]
    assert postings.terms == "a\nb"
    assert np.frombuffer(postings.tf, "<u2").tolist() == [1, 3]
    assert np.frombuffer(postings.position_lengths, "<u4").tolist() == [1, 1 + 1 + 2]
    assert list(postings.positions) == [1, 0, 2, 42 + 128, 2]
    assert postings.length == 301


def test_grouping_does_not_depend_on_the_order_of_occurrences() -> None:
    """Occurrences may come in any order."""
    terms, positions = np.array([2, 0, 2, 1, 0], dtype=np.int32), np.array([9, 4, 1, 0, 7])
    names = ["x", "y", "z"]
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        (shuffled, distinct), (straight, _) = (
            group_postings(terms[own], positions[own], names, 10) for own in (order, list(range(5)))
        )
        assert shuffled == straight
        assert distinct.tolist() == sorted(set(terms.tolist()))


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 70_000), min_size=1, max_size=5)))
def test_a_short_text_is_grouped_as_a_long_one(places: dict[str, list[int]]) -> None:
    """Term by term in plain Python gives what sorting arrays gives."""
    names = list(places)
    terms = np.array([i for i, name in enumerate(names) for _ in places[name]], dtype=np.int32)
    positions = np.array([one for name in names for one in places[name]], dtype=np.int64)
    assert few_postings(places, 7) == group_postings(terms, positions, names, 7)[0]


def test_counts_stop_at_their_largest_value() -> None:
    """More occurrences than 16 bits hold are counted as that many; their positions are all kept."""
    n = MAX_TF + 10
    postings = group_postings(np.zeros(n, dtype=np.int32), np.arange(n), ["a"], n)[0]
    assert np.frombuffer(postings.tf, "<u2").tolist() == [MAX_TF]
    assert decode(np.frombuffer(postings.positions, np.uint8)).size == n


def test_no_occurrences_give_no_terms() -> None:
    """A text of marks alone keeps its length and has no terms."""
    nothing = group_postings(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64), [], 3)[0]
    assert (nothing.terms, nothing.tf, nothing.length) == ("", b"", 3)
