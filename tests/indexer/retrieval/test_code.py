"""What tells one file of source code from another, by hand and over small indexes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from indexer.postings import Floats
from indexer.query.parse import parse
from indexer.retrieval.candidates import find, idf
from indexer.retrieval.code import CODE_NAMES, K1, PASSAGE, below_common, best_passage, code_counts, code_values
from indexer.storage.index import Index
from indexer.storage.snapshot import PLACE_BITS
from tests.matchers import matcher_of

MakeIndex = Callable[..., Index]


def valued(make_index: MakeIndex, query: str, files: dict[str, str]) -> dict[str, dict[str, float]]:
    """path -> the value of each feature."""
    index = make_index([{"path": path, "text": text, "type": "source"} for path, text in files.items()])
    snapshot = index.snapshot()
    found = find(matcher_of(snapshot), parse(query), limit=100)
    names = list(files)
    paths = [names[i] for i in snapshot.documents["doc_id"][found.docs].tolist()]
    values = code_values(snapshot, found, code_counts(snapshot, found, found.docs), found.bm25f, paths)
    rows = [dict(zip(CODE_NAMES, row, strict=True)) for row in values.tolist()]
    return dict(zip(paths, rows, strict=True))


def points(tf: int) -> float:
    return (K1 + 1) * tf / (K1 + tf)


def keys(*places: tuple[int, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([row << PLACE_BITS | position for row, position in places], dtype=np.int64)


def test_the_best_passage_by_hand() -> None:
    """Three of a word far apart are worth less than two in a row; what a cut tears apart another holds whole."""
    far, near = keys((0, 0), (0, 5 * PASSAGE), (0, 9 * PASSAGE)), keys((1, 3), (1, 4))
    places, lengths = [np.concatenate([far, near])], np.array([10 * PASSAGE, 9])
    assert best_passage(places, lengths, np.array([2.0])).tolist() == [2 * points(1), 2 * points(2)]
    torn = [keys((0, PASSAGE - 1), (0, PASSAGE))]
    assert best_passage(torn, np.array([2 * PASSAGE]), np.array([1.0])).tolist() == [points(2)]
    assert best_passage([], np.zeros(0, dtype=np.int64), np.zeros(0)).tolist() == []


def test_what_is_defined_stands_behind_what_defines(make_index: MakeIndex) -> None:
    """A class, and a function in camel case that the words are parts of; what is only used defines nothing."""
    found = valued(make_index, "decoder", {
        "/r/a.rs": "impl Read for Decoder { fn open() {} }", "/r/b.py": "def make_decoder(): pass",
        "/r/c.js": "function openDecoder() {}", "/r/d.go": "x := decoder(1)",
    })  # fmt: skip
    assert {path: row["defines_types"] for path, row in found.items() if row["defines_types"]} == {"/r/a.rs": 1.0}
    assert found["/r/c.js"]["defines_names"] == 1.0
    assert found["/r/d.go"]["defines_names"] == found["/r/d.go"]["defines_types"] == 0.0


def test_more_definitions_count_less_and_less(make_index: MakeIndex) -> None:
    """ln 2 of one, ln 4 of three, as a share of the most."""
    found = valued(make_index, "node", {"/r/a.c": "struct node;", "/r/b.c": "struct node; struct node; struct node;"})
    assert found["/r/a.c"]["defines_types"] == pytest.approx(np.log(2) / np.log(4))


@pytest.mark.parametrize(
    ("path", "mark"),
    [
        ("tests/reader.py", "is_test"), ("src/reader_test.go", "is_test"), ("reader.spec.ts", "is_test"),
        ("test/ReaderTest.java", "is_test"), ("test_reader.py", "is_test"), ("src/ReaderTests.cs", "is_test"),
        ("examples/reader.rs", "is_example"), ("docs/reader.md", "is_example"), ("reader/__init__.py", "is_entrance"),
        ("reader/mod.rs", "is_entrance"), ("src/index.ts", "is_entrance"),
        ("src/reader.py", ""), ("src/latest.py", ""), ("src/contest.go", ""), ("src/Attestation.java", ""),
        ("docsearch.py", ""), ("src/indexing.ts", ""),
    ],
)  # fmt: skip
def test_what_a_path_tells(make_index: MakeIndex, path: str, mark: str) -> None:
    """Tests, examples and entrances by their folders and names, and nothing that only sounds like one."""
    row = valued(make_index, "reader", {f"/r/{path}": "reader", "/r/other.py": "reader"})[f"/r/{path}"]
    assert {name for name in ("is_test", "is_example", "is_entrance") if row[name]} == ({mark} - {""})


def test_folders_that_all_lie_in_tell_nothing(make_index: MakeIndex) -> None:
    """A checkout below a folder of tests is not all tests, and its name is no word of each path."""
    found = valued(make_index, "reader", {"/reader/tests/a/x.py": "reader", "/reader/tests/a/y.py": "reader"})
    assert all(row["is_test"] == row["path_words"] == 0.0 for row in found.values())
    assert below_common(["/a/b/c.py", "/a/d.py", ""]) == ["b/c.py", "d.py", ""]
    assert below_common([]) == []


def test_names_in_camel_case_are_of_several_words(make_index: MakeIndex) -> None:
    """JsonReader.java is named after a json reader; of json_reader_settings.go a word is missing."""
    found = valued(make_index, "json reader", {
        "/r/JsonReader.java": "json reader", "/r/json_reader_settings.go": "json reader", "/r/json/x.go": "json reader",
    })  # fmt: skip
    assert {path: row["named_after"] for path, row in found.items() if row["named_after"]} == {"/r/JsonReader.java": 1}
    assert found["/r/JsonReader.java"]["path_words"] == found["/r/json_reader_settings.go"]["path_words"] == 1.0
    weights: Floats = idf(3, np.array([3.0, 3.0]))
    assert found["/r/json/x.go"]["path_words"] == pytest.approx(weights[0] / weights.sum())


def test_removed_files_change_nothing(make_index: MakeIndex) -> None:
    """Places of words and of what defines are read of the living files alone."""
    files = [{"path": f"/r/{i}.py", "text": f"class Reader{i}: pass\nreader", "type": "source"} for i in range(4)]
    snapshot = make_index(files, sizes=[2], removed=[1]).snapshot()
    found = find(matcher_of(snapshot), parse("reader"), limit=100)
    counts = code_counts(snapshot, found, found.docs)
    values = code_values(snapshot, found, counts, found.bm25f, [f"/r/{i}.py" for i in range(3)])
    assert values.shape == (3, len(CODE_NAMES))
    assert (values[:, CODE_NAMES.index("passage")] == 1.0).all()
