"""The fields of the index and the numbers kept for each document.

Changing anything here, or how text becomes terms, means a new `VERSION`: an older index is then rebuilt.
"""

from __future__ import annotations

import hashlib
import os
import struct
from functools import lru_cache

import numpy as np

from indexer.properties import DATE_FIELDS
from indexer.text.analysis import BUCKETS

VERSION = 9

PROPERTY_FIELD = "properties"
TEXT_FIELDS = ("title", "body", "name", "path", "author", "recipients", PROPERTY_FIELD)
"""`name` is the file's name, `path` the names of the folders above it; all hold positions

In `properties` each word is indexed twice, plain and under the name of its property (`scoped_term`)."""
TAG_FIELD = "tag"
"""exact marks such as "ext=pdf": no positions, no length"""
FIELDS = (*TEXT_FIELDS, TAG_FIELD)


def scoped_term(name: str, term: str) -> str:
    """A word of the property `name`: "=artist=nina". No word begins with "=", so no typed prefix matches it."""
    return f"={name}={term}"


_CODES = {"<i8": "q", "<f8": "d", "<u4": "I", "<u2": "H", "|u1": "B"}
"""the format of the columns in module struct"""
DOCUMENT = np.dtype(
    [
        ("doc_id", "<i8"),
        ("modified", "<f8"),  # seconds since the epoch
        ("size", "<i8"),  # bytes
        ("folder", "<i8"),  # the first 8 bytes of a hash of the folder's path
        ("content", "<i8"),  # the first 8 bytes of a hash of the content
        ("type", "u1"),  # position in indexer.documents.TYPES
        ("language", "u1"),  # position in indexer.text.language.LANGUAGES
        ("depth", "<u2"),  # folders above the file
        *((f"n_{field}", "<u4") for field in TEXT_FIELDS),  # length in words
        *((field, "<f8") for field in DATE_FIELDS),  # seconds since the epoch, NaN where nothing is known
        ("sketch", "u1", (BUCKETS,)),  # of the text, see indexer.text.analysis
    ]
)
"""What is kept of each document: the columns that filters and features read as arrays."""
DOCUMENT_STRUCT = struct.Struct(
    "<" + "".join(_CODES.get(DOCUMENT[name].str, f"{BUCKETS}s") for name in DOCUMENT.names or ())
)
"""packs one row; raises struct.error for what a column cannot hold"""


@lru_cache(maxsize=10_000)
def folder_key(folder: str) -> int:
    """The column value of a folder: 63 bits of a hash of its path."""
    return int.from_bytes(hashlib.blake2b(os.fsencode(folder), digest_size=8).digest(), "little") >> 1
