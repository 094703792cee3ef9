from __future__ import annotations

import zlib

import msgspec
import numpy as np
import pytest

from foltr.errors import RecordError, ShapeError, ValueRangeError
from foltr.ranking.interaction import Interaction, InteractionRecord, decode, encode


def page(n_docs: int = 12, k: int = 10) -> Interaction:
    rng = np.random.default_rng(0)
    return Interaction(rng.random((n_docs, 5)), rng.permutation(n_docs)[:k], rng.random(k) < 0.3)


@pytest.mark.parametrize(("dtype", "error"), [("float64", 0.0), ("float32", 2**-25), ("float16", 2**-12)])
def test_stored_and_read_again(dtype: str, error: float) -> None:
    """Ranking and clicks come back exactly, features in [0, 1] rounded to the type they were stored in."""
    original = page()
    read = decode(encode(original, dtype))  # type: ignore[arg-type]
    assert np.abs(read.features - original.features).max() <= error
    assert read.ranking.tolist() == original.ranking.tolist()
    assert read.clicks.tolist() == original.clicks.tolist()


def test_empty_page_round_trip() -> None:
    """A page without candidates is stored like any other."""
    read = decode(encode(Interaction(np.zeros((0, 5)), [], [])))
    assert read.features.shape == (0, 5)


@pytest.mark.parametrize(
    ("features", "ranking", "clicks", "error", "match"),
    [
        ([1.0, 2.0], [0], [True], ShapeError, r"\[n_docs, n_features\]"),
        ([[1.0]], [[0]], [True], ShapeError, r"\[k\]"),
        ([[1.0]], [0], [True, False], ShapeError, r"clicks must be \[1\]"),
        ([[float("nan")]], [0], [True], ValueRangeError, "row 0, column 0"),
        ([[float("inf")]], [0], [True], ValueRangeError, "finite"),
        ([[1.0]], [1], [True], ValueRangeError, "rows 0 to 0"),
        ([[1.0]], [-1], [True], ValueRangeError, "rows 0 to 0"),
        ([[1.0], [2.0]], [0, 0], [True, True], ValueRangeError, "twice"),
        ([[1.0]], [0.0], [True], ValueRangeError, "row indices"),
        ([[1.0]], [0], [0.5], ValueRangeError, "true or false"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    features: object, ranking: object, clicks: object, error: type[Exception], match: str
) -> None:
    """Each wrong part is an error that names what was wanted."""
    with pytest.raises(error, match=match):
        Interaction(features, ranking, clicks)  # type: ignore[arg-type]


def test_the_arrays_are_copies_that_cannot_be_changed() -> None:
    """A page that was shown stays as it was, whatever the caller does with the arrays."""
    features = np.zeros((2, 2))
    shown = Interaction(features, [0, 1], [False, True])
    features[0, 0] = 9.0
    assert shown.features[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        shown.clicks[0] = True


def test_values_beyond_the_type_are_refused() -> None:
    """70,000 does not fit float16, and is not quietly stored as infinity."""
    with pytest.raises(ValueRangeError, match="float16"):
        encode(Interaction([[70_000.0]], [0], [True]), "float16")


def record(**changes: object) -> bytes:
    good = msgspec.msgpack.decode(encode(page()), type=InteractionRecord)
    return msgspec.msgpack.encode(msgspec.structs.replace(good, **changes))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "no stored interaction"),
        (b"\x00\xff rubbish", "no stored interaction"),
        (record(version=2), "version 2; this program reads 1"),
        (record(features=b"not deflated"), "damaged"),
        (record(n_docs=13), "announces"),
        (record(n_docs=-1), "-1 documents"),
        (record(features=zlib.compress(b"\0" * 10_000_000)), "announces"),
    ],
)
def test_damaged_records_are_refused(data: bytes, match: str) -> None:
    """Bytes that are no record, of another version or of another size give one clear error."""
    with pytest.raises(RecordError, match=match):
        decode(data)
