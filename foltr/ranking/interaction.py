"""One result page that was shown and what was opened on it: everything the learning core ever sees of a user."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arrays import BoolVector, FloatMatrix, IntVector
from foltr.errors import RecordError, ShapeError, ValueRangeError

RECORD_VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class Interaction:
    """Features of all candidates, the rows that were shown in their order, and which of those were opened.

    Raises ShapeError or ValueRangeError when the parts do not fit one another. The arrays are copies and read-only.
    """

    features: FloatMatrix
    """[n_docs, n_features], finite"""
    ranking: IntVector
    """[k] row indices of the documents shown, best first, without repetition; k <= n_docs"""
    clicks: BoolVector
    """[k] whether the document at that rank was opened"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", _features(self.features))
        object.__setattr__(self, "ranking", _ranking(self.ranking, n_docs=len(self.features)))
        object.__setattr__(self, "clicks", _clicks(self.clicks, k=len(self.ranking)))

    @property
    def n_docs(self) -> int:
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])


def _features(values: npt.ArrayLike) -> FloatMatrix:
    features = np.array(values, dtype=np.float64)
    if features.ndim != 2:
        raise ShapeError(f"features must be [n_docs, n_features], not {list(features.shape)}")
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        raise ValueRangeError(f"features must be finite; row {row}, column {column} is {features[row, column]}")
    features.flags.writeable = False
    return features


def _ranking(values: npt.ArrayLike, *, n_docs: int) -> IntVector:
    given = np.asarray(values)
    if given.ndim != 1:
        raise ShapeError(f"ranking must be [k], not {list(given.shape)}")
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise ValueRangeError(f"ranking must hold row indices, not {given.dtype}")
    ranking = np.array(given, dtype=np.intp)
    if ranking.size and (ranking.min() < 0 or ranking.max() >= n_docs):
        raise ValueRangeError(f"ranking must hold rows 0 to {n_docs - 1}, not {ranking.min()} to {ranking.max()}")
    if ranking.size and np.bincount(ranking).max() > 1:
        raise ValueRangeError("ranking names a row twice")
    ranking.flags.writeable = False
    return ranking


def _clicks(values: npt.ArrayLike, *, k: int) -> BoolVector:
    given = np.asarray(values)
    if given.shape != (k,):
        raise ShapeError(f"clicks must be [{k}] as the ranking is, not {list(given.shape)}")
    if given.size and given.dtype != np.bool_ and not np.isin(given, (0, 1)).all():
        raise ValueRangeError("clicks must be true or false")
    clicks = np.array(given, dtype=np.bool_)
    clicks.flags.writeable = False
    return clicks


class InteractionRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """An interaction as it is stored: MessagePack, versioned, features rounded to `dtype` and deflated."""

    version: int
    dtype: Literal["float16", "float32", "float64"]
    n_docs: int
    n_features: int
    features: bytes
    """zlib of the matrix, row by row, little-endian"""
    ranking: tuple[int, ...]
    clicks: tuple[bool, ...]


_LITTLE_ENDIAN = {"float16": "<f2", "float32": "<f4", "float64": "<f8"}
_decoder = msgspec.msgpack.Decoder(InteractionRecord)


def encode(interaction: Interaction, dtype: Literal["float16", "float32", "float64"] = "float32") -> bytes:
    """The stored form of an interaction.

    float16 keeps three decimals, enough for features in [0, 1]; ValueRangeError when a value does not fit `dtype`.
    """
    with np.errstate(over="ignore"):
        rounded = interaction.features.astype(_LITTLE_ENDIAN[dtype])
    if not np.isfinite(rounded).all():
        raise ValueRangeError(f"features up to {np.abs(interaction.features).max():g} do not fit {dtype}")
    return msgspec.msgpack.encode(
        InteractionRecord(
            version=RECORD_VERSION,
            dtype=dtype,
            n_docs=interaction.n_docs,
            n_features=interaction.n_features,
            features=zlib.compress(rounded.tobytes(), 1),
            ranking=tuple(interaction.ranking.tolist()),
            clicks=tuple(interaction.clicks.tolist()),
        )
    )


def decode(data: bytes) -> Interaction:
    """The interaction that `encode` stored; RecordError when the bytes are anything else."""
    try:
        record = _decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise RecordError(f"this is no stored interaction: {error}") from error
    if record.version != RECORD_VERSION:
        raise RecordError(f"interaction record version {record.version}; this program reads {RECORD_VERSION}")
    features = _decode_features(record)
    return Interaction(features, np.array(record.ranking, dtype=np.intp), np.array(record.clicks, dtype=np.bool_))


def _decode_features(record: InteractionRecord) -> FloatMatrix:
    dtype = np.dtype(_LITTLE_ENDIAN[record.dtype])
    if record.n_docs < 0 or record.n_features < 0:
        raise RecordError(f"an interaction of {record.n_docs} documents with {record.n_features} features")
    n_bytes = record.n_docs * record.n_features * dtype.itemsize
    inflater = zlib.decompressobj()
    try:
        # One byte more than announced is enough to notice a lie, and a small record cannot fill the memory.
        raw = inflater.decompress(record.features, n_bytes + 1)
    except zlib.error as error:
        raise RecordError(f"the features of a stored interaction are damaged: {error}") from error
    if len(raw) != n_bytes:
        raise RecordError(f"a stored interaction announces {n_bytes} bytes of features and holds {len(raw)}")
    return np.frombuffer(raw, dtype=dtype).reshape(record.n_docs, record.n_features).astype(np.float64)
