"""What another machine sends is checked before it is believed."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from app.external_programs import MachineError
from app.learning.traits import FOLDER
from app.machines.remote_messages import FarTable, far_id, id_there, there, unpacked
from app.search.candidate_table import PLAIN, Aside
from indexer.retrieval.features import NAMES
from indexer.storage.catalogue import DocumentRow
from indexer.storage.mail_threads import Thread
from indexer.text.analysis import BUCKETS

ROW = DocumentRow(7, "", "", "Heron", "text", "", "", (), 1e9, 30, "en", "", 5, b"h", ())


def table(**changes: object) -> FarTable:
    """Of one document, for a question of two concepts."""
    columns = {
        "bm25f": np.ones(1), "features": np.zeros((1, len(NAMES))), "levels": np.ones((1, 2), dtype=np.int8),
        "as_typed": np.ones(1, dtype=bool), "named": np.zeros(1, dtype=np.int8),
        "chosen_before": np.zeros(1, dtype=bool), "added": np.zeros(1, dtype=bool),
        "sketches": np.zeros((1, BUCKETS), dtype=np.uint8),
    }  # fmt: skip
    packed = {name: column.tobytes() for name, column in columns.items()}
    packed |= changes.pop("columns", {})  # type: ignore[arg-type]
    whole = FarTable([ROW], [b"/n/a\xff.txt"], [PLAIN], [()], [("text",)], packed, 1, 1, ("heron",), b"q")
    return msgspec.structs.replace(whole, **changes)


def test_a_table_is_as_it_was_sent() -> None:
    """Under ids that no local document has, at a path in scp's form, whatever its bytes."""
    found = unpacked("desk", table(), 2)
    assert (found.table.rows[0].path, found.table.asides[0].machine) == ("desk:/n/a\udcff.txt", "desk")
    assert found.table.rows[0].doc_id == far_id("desk", 7) < 0
    assert id_there(far_id("desk", 7)) == 7
    assert far_id("desk", 7) != far_id("nas", 7)
    assert found.table.features.shape == (1, len(NAMES))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"columns": {"bm25f": np.array([np.nan]).tobytes()}}, "no numbers"),
        ({"columns": {"features": np.full((1, len(NAMES)), np.inf).tobytes()}}, "no numbers"),
        ({"columns": {"levels": b"\x01" * 3}}, "read the question otherwise"),
        ({"columns": {"sketches": b""}}, "read the question otherwise"),
        ({"paths": []}, "does not fit together"),
        ({"n_matches": -1}, "does not fit together"),
        ({"asides": [Aside(passage=(5, 2))]}, "a passage that is none"),
        ({"rows": [msgspec.structs.replace(ROW, type="trojan")]}, "a document that is none"),
        ({"rows": [msgspec.structs.replace(ROW, doc_id=-3)]}, "a document that is none"),
        ({"rows": [msgspec.structs.replace(ROW, modified=1e300)]}, "a document that is none"),
    ],
)
def test_what_is_no_table_of_the_question_is_refused(changes: dict[str, object], why: str) -> None:
    """Invalid numbers, columns of other lengths, unknown kinds of documents."""
    with pytest.raises(MachineError, match=why):
        unpacked("desk", table(**changes), 2)


def test_what_is_printed_as_it_is_was_cleaned() -> None:
    """Texts may contain what a terminal obeys; marks are only types and hashes."""
    aside = Aside(foreign="\x1b[2J", thread=Thread("\x1b]0;", 2))
    row = msgspec.structs.replace(ROW, truncated="\x07")
    found = unpacked(
        "desk", table(rows=[row], asides=[aside], missing_words=[("\x1b",)], marks=[("pdf", f"{FOLDER}0a", "\x1b")]), 2
    )
    printed = (*found.table.missing_words[0], found.table.asides[0].foreign, found.table.rows[0].truncated)
    assert not any(sign in "".join(printed) for sign in "\x1b\x07")
    assert found.table.marks == [("text", f"{FOLDER}0a")]
    assert found.table.asides[0].thread == ("\ufffd]0;", 2)


def test_one_document_is_not_told_twice() -> None:
    """It would take two places on the page."""
    one = table()
    lists = {name: getattr(one, name) * 2 for name in ("rows", "paths", "asides", "missing_words", "marks")}
    twice = msgspec.structs.replace(one, columns={name: own * 2 for name, own in one.columns.items()}, **lists)
    with pytest.raises(MachineError, match="one document twice"):
        unpacked("desk", twice, 2)


def test_a_row_is_checked_wherever_it_comes_from() -> None:
    """Even the one that comes with a file."""
    assert there("desk", ROW, b"/x").path == "desk:/x"
