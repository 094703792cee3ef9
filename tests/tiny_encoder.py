"""A sentence encoder of a few words, written by hand as ONNX bytes: a table of vectors that is looked into.

The field numbers are those of onnx.proto (ModelProto, GraphProto, NodeProto, TensorProto, ValueInfoProto).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

SIGNS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
FLOAT, INT64 = 1, 7
MEANINGS: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("car", "automobile", "vehicle"), (1.0, 0.0, 0.0)),
    **dict.fromkeys(("bird", "heron", "egret"), (0.0, 1.0, 0.0)),
    **dict.fromkeys(("tax", "income", "levy"), (0.0, 0.0, 1.0)),
}


def write_encoder(folder: Path, meanings: Mapping[str, Sequence[float]] = MEANINGS) -> Path:
    """model.onnx and vocab.txt; words that are not named mean nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    n_numbers = len(next(iter(meanings.values())))
    table = np.array([[0.0] * n_numbers] * len(SIGNS) + [list(v) for v in meanings.values()], dtype="<f4")
    (folder / "vocab.txt").write_text("\n".join((*SIGNS, *meanings)) + "\n", encoding="utf-8")
    tensor = _number(1, table.shape[0]) + _number(1, n_numbers) + _number(2, FLOAT) + _bytes(8, b"table")
    node = _bytes(1, b"table") + _bytes(1, b"input_ids") + _bytes(2, b"out") + _bytes(4, b"Gather")
    graph = (
        _bytes(1, node) + _bytes(2, b"tiny") + _bytes(5, tensor + _bytes(9, table.tobytes()))
        + _bytes(11, _value("input_ids", INT64, ("batch", "sequence")))
        + _bytes(12, _value("out", FLOAT, ("batch", "sequence", n_numbers)))
    )  # fmt: skip
    (folder / "model.onnx").write_bytes(_number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _number(2, 13)))
    return folder


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(_bytes(1, _bytes(2, n.encode()) if isinstance(n, str) else _number(1, n)) for n in shape)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    head = bytes([value & 127 | (128 if value > 127 else 0)])
    return head + _varint(value >> 7) if value > 127 else head
