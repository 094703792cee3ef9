"""Candidates by hand: rows, tables and pages of which a test says what it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from app.learning.learner import Learner
from app.search.candidate_table import PLAIN, CandidateTable
from app.search.code_pages import Sides
from app.search.page_order import Ranked
from app.settings import LearningSettings
from app.store import Store
from indexer.retrieval.features import NAMES
from indexer.storage.catalogue import DocumentRow


def row(i: int, content: str = "", **known: Any) -> DocumentRow:
    """A text of three words, `content` for what it has in common with its copies."""
    given = {"path": f"/notes/{i}.txt", "type": "text", "modified": 0.0, "n_words": 3} | known
    return DocumentRow(
        doc_id=100 + i, part="", title=f"Title {i}", author="", recipients="", properties=(), size=10, language="",
        truncated="", content_hash=(content or str(i)).encode(), pages=(), **given,
    )  # fmt: skip


def table(rows: Sequence[DocumentRow], **columns: Any) -> CandidateTable:
    """Candidates of which nothing else is known than these columns."""
    n = len(rows)
    given = dict[str, Any](
        names=[str(i) for i in range(n)], docs=np.arange(n), bm25f=np.zeros(n), features=np.zeros((n, len(NAMES))),
        levels=np.zeros((n, 1), dtype=np.int64), missing_words=[()] * n, as_typed=np.ones(n, dtype=bool),
        named=np.zeros(n, dtype=np.int64), chosen_before=np.zeros(n, dtype=bool), marks=[()] * n,
        sketches=np.zeros((n, 1), dtype=np.uint8), asides=[PLAIN] * n, added=np.zeros(n, dtype=bool),
    )  # fmt: skip
    return CandidateTable(rows=list(rows), **given | columns)


def ranked(
    folder: Path, found: CandidateTable, scores: Sequence[float], *, weights: Mapping[str, float] = {}, **known: Any
) -> Ranked:
    """The page of a new device: no documents beside source code, nothing alike; features weigh 0 but for `weights`."""
    theta0 = [weights.get(name, 0.0) for name in NAMES]
    with Store(folder / "state.sqlite") as store:
        learner = Learner(store, theta0=theta0, feature_names=NAMES, manifest_hash="", settings=LearningSettings())
    nobody = np.zeros(len(found.rows), dtype=bool)
    given = dict[str, Any](
        concepts=(), sides=Sides(nobody, nobody, nobody, nobody), kind=None,
        near=(np.zeros((0, 2), dtype=np.int64), np.zeros(0)), closeness=None, day_of=lambda row: None, tonight=2e9,
    )  # fmt: skip
    return Ranked(found, np.array(scores, dtype=np.float64), learner, **given | known)
