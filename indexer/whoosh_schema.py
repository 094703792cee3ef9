"""The fields of the index as Whoosh sees them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from indexer.postings import decode
from indexer.schema import FIELDS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh import fields, formats


class PositionGaps(formats.Format):  # type: ignore[misc]
    """Whoosh's view of our positions: the byte code of `indexer.postings`."""

    def __init__(self, field_boost: float = 1.0, **options: Any) -> None:
        super().__init__(field_boost=field_boost, **options)

    def decode_positions(self, value: bytes) -> list[int]:
        """The positions behind one posting's value."""
        positions: list[int] = np.cumsum(decode(np.frombuffer(value, dtype=np.uint8))).tolist()
        return positions

    def decode_frequency(self, value: bytes) -> int:
        """How many positions one posting's value holds."""
        return sum(1 for byte in value if byte < 0x80)

    def decode_weight(self, value: bytes) -> float:
        """The same as the frequency."""
        return float(self.decode_frequency(value))


class AnalysedTerms(fields.FieldType):  # type: ignore[misc]
    """A field whose terms arrive analysed; Whoosh reads it like any other."""

    analyzer = None
    stored = False
    vector = None
    unique = False
    scorable = True
    column_type = None

    def __init__(self) -> None:
        self.format = PositionGaps()

    def parse_query(self, fieldname: str, qstring: str, boost: float = 1.0) -> None:
        """Queries are parsed by indexer.query.parse, never by Whoosh."""


def whoosh_schema() -> fields.Schema:
    """The Whoosh schema: one analysed field for each of FIELDS."""
    return fields.Schema(**{name: AnalysedTerms() for name in FIELDS})
