"""The shipped encoder with whole numbers, against the same one as it ships."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from indexer.meaning import encoder
from indexer.meaning.encoder import Encoder, load, shipped, why_none
from indexer.meaning.integer_products import with_integer_products
from tests.tiny_encoder import write_encoder

pytest.importorskip("onnxruntime")
TEXTS = [
    "How do I repair my car?", "Mending an automobile", "A heron in the reeds", "Tax law of 1986, third edition",
    "x", "the " * 200,
]  # fmt: skip


@pytest.mark.skipif(bool(why_none("")), reason=f"the shipped encoder is {why_none('')}")
def test_the_vectors_are_nearly_those_of_the_model_as_it_ships() -> None:
    """Each within a cosine of .98 of its own, and nearer to it than to any other."""
    model = (encoder._shipped_file() or Path()).read_bytes()
    assert with_integer_products(model) != model
    plain = Encoder(model, lambda text: shipped().numbers(text, encoder.MAX_PIECES), encoder.SHIPPED)
    cosines = load("").encode(TEXTS) @ plain.encode(TEXTS).T
    assert cosines.diagonal().min() > 0.98
    np.testing.assert_array_equal(cosines.argmax(axis=1), range(len(TEXTS)))


def test_a_model_without_kept_weights_stays_as_it_is(tmp_path: Path) -> None:
    """But for the order of its fields: it says the same."""
    model = (write_encoder(tmp_path) / "model.onnx").read_bytes()
    written = with_integer_products(model)
    assert sorted(written) == sorted(model)
    before = load(str(tmp_path)).encode(["car heron"])
    (tmp_path / "model.onnx").write_bytes(written)
    np.testing.assert_array_equal(load(str(tmp_path)).encode(["car heron"]), before)
