"""A person with preferences: does the ranker learn what kind of file they want, and do other queries stay as they were?

The files of a collection get folders, types and dates by lot. A person wants what a text judgement says is relevant
and what they prefer (recent files, one folder, one type, long documents), nothing else: grade = judgement if preferred,
else 0. They search queries of one half of a collection; nDCG@10 is measured on the other half, exploration off.

    python -m benchmarks.preferences
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import collections
from benchmarks.collections import Collection, Document

FOLDERS = ("archive", "inbox", "notes", "projects", "reading")
PREFERRED_FOLDER = "projects"
PREFERRED_TYPE = ".md"
RECENT_DAYS = 60.0
OLDEST_DAYS = 1500.0
LONG_SHARE = 0.3
"""a document is long when it is among this share of the longest"""


@dataclass(frozen=True, slots=True)
class Filed:
    """One document as a person's file."""

    document: Document
    path: Path
    age_days: float
    is_long: bool


def filed(collection: Collection, folder: Path, rng: np.random.Generator) -> dict[str, Filed]:
    """Write the collection as a person's files below `folder`, by lot; gives path -> what it is."""
    longest = np.quantile([len(d.text) for d in collection.documents], 1 - LONG_SHARE)
    now = time.time()
    found: dict[str, Filed] = {}
    for i, document in enumerate(collection.documents):
        ending = str(rng.choice(collections.FORMATS))
        path = folder / str(rng.choice(FOLDERS)) / f"document-{i:05d}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(collections.file_text(document, ending), encoding="utf-8")
        recent = rng.random() < 0.25
        age = float(rng.uniform(0, RECENT_DAYS) if recent else rng.uniform(RECENT_DAYS * 2, OLDEST_DAYS))
        os.utime(path, (now - age * 86400, now - age * 86400))
        found[str(path)] = Filed(document, path, age, len(document.text) >= longest)
    return found


PREFERENCES: dict[str, Callable[[Filed], bool]] = {
    "recent files": lambda file: file.age_days <= RECENT_DAYS,
    "one folder": lambda file: file.path.parent.name == PREFERRED_FOLDER,
    "one type": lambda file: file.path.suffix == PREFERRED_TYPE,
    "long documents": lambda file: file.is_long,
}
