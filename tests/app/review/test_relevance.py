"""The words of the documents as a table, and the order that is fitted to it."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from app.review import relevance
from app.review.relevance import PENALTY, WordTable, fit, read_table
from app.search.search import Search
from app.settings import Paths, Settings
from tests.app.conftest import Device

ROWS = [[1.0, 0.0, 0.2], [0.8, 0.6, 0.0], [0.0, 1.0, 0.1], [0.0, 0.3, 0.9], [0.1, 0.9, 0.0]]
MATTERS = np.array([True, True, False, False, False])


@pytest.fixture(autouse=True)
def _to_the_bottom(monkeypatch: pytest.MonkeyPatch) -> None:
    """More steps than a review takes."""
    monkeypatch.setattr(relevance, "STEPS", 1000)


def test_one_document_a_side_is_solved_by_hand() -> None:
    """x = 1 matters, x = -1 does not: the slope 1/(1 + e^w) of both halves together equals PENALTY w."""
    (weight,) = fit(table([[1.0], [-1.0]]), np.array([True, False])).tolist()
    assert 1 / (1 + np.exp(weight)) == pytest.approx(PENALTY * weight, rel=1e-5)


def test_nothing_around_is_better() -> None:
    """The function of the module's first lines, written plainly, has its minimum at the solution."""
    x, best = np.array(ROWS), fit(table(ROWS), MATTERS)

    def f(weights: np.ndarray) -> float:  # type: ignore[type-arg]
        loss = np.log1p(np.exp(-np.where(MATTERS, 1, -1) * (x @ weights)))
        return float(loss[MATTERS].mean() / 2 + loss[~MATTERS].mean() / 2 + PENALTY / 2 * weights @ weights)

    for step in 0.01 * np.random.default_rng(0).normal(size=(200, 3)):
        assert f(best) < f(best + step)


def test_the_order_of_rows_does_not_matter() -> None:
    """Nor does judging documents of both sides twice."""
    order = np.array([4, 2, 0, 3, 1])
    turned = fit(table([ROWS[i] for i in order]), MATTERS[order])
    assert turned == pytest.approx(fit(table(ROWS), MATTERS), abs=1e-6)
    doubled = fit(table([*ROWS, *ROWS]), np.concatenate((MATTERS, MATTERS)))
    assert doubled == pytest.approx(fit(table(ROWS), MATTERS), abs=1e-6)


def test_one_side_alone_is_no_error() -> None:
    """At the beginning only the query matters, and there may be no other document to presume irrelevant."""
    assert np.isfinite(fit(table([[1.0, 0.5]]), np.array([True]))).all()
    assert np.isfinite(fit(table([[1.0, 0.5]]), np.array([False]))).all()


def test_the_steps_of_a_review_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """More steps would change no order."""
    bottom = fit(table(ROWS), MATTERS)
    monkeypatch.undo()
    assert fit(table(ROWS), MATTERS) == pytest.approx(bottom, abs=1e-3 * float(np.abs(bottom).max()))


def table(dense: list[list[float]]) -> WordTable:
    """The sparse form of a dense table."""
    rows = np.array(dense)
    places = [np.flatnonzero(row) for row in rows]
    values = np.concatenate([row[own] for row, own in zip(rows, places, strict=True)])
    ends = np.cumsum([own.size for own in places])
    return WordTable(np.concatenate(places).astype(np.int32), values.astype(np.float32), ends, rows.shape[1])


DENSE = [[0.0, 0.5, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.25], [0.0, 3.0, 0.0, 0.0]]


@pytest.mark.parametrize("block", [1, 2, 1 << 20])
def test_products_are_those_of_the_dense_table(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """With an empty row, in blocks of any size."""
    monkeypatch.setattr(relevance, "BLOCK", block)
    sparse, dense = table(DENSE), np.array(DENSE)
    assert sparse.times(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == (dense @ [1.0, 2.0, 3.0, 4.0]).tolist()


def test_rows_are_taken_narrowed_and_added() -> None:
    """In any order, twice if requested; empty columns are removed."""
    rows = table(DENSE).take(np.array([3, 0, 0]))
    assert rows.times(np.ones(4)).tolist() == [3.0, 2.5, 2.5]
    narrow, used = rows.narrowed()
    assert (narrow.n_columns, used.tolist()) == (2, [1, 3])
    assert narrow.times(np.array([1.0, 10.0])).tolist() == [3.0, 20.5, 20.5]
    more = rows.with_row(np.array([0, 2]), np.array([1.0, 1.0]))
    assert more.times(np.array([1.0, 0.0, 5.0, 0.0])).tolist() == [0.0, 0.0, 0.0, 6.0]


def test_the_table_of_an_index_is_as_the_formula_says(device: Device) -> None:
    """Four files of three words: (1 + ln tf) ln(N / df), length 1; words of one file have none; the answer last."""
    for path in device.notes.rglob("*.*"):
        path.unlink()
    texts = {"one.txt": "ant ant bee", "two.txt": "ant cat", "three.txt": "bee ant ant ant", "four.txt": "dog"}
    for name, text in texts.items():
        (device.notes / name).write_text(text)
    device.index()
    search = Search(Settings(), Paths(device.home / "config", device.data_dir))
    snapshot, answers = search.reading.snapshot, np.array([0.1, 0.2, 0.3, 0.4])
    found, vocabulary = read_table(snapshot, np.arange(4), answers)
    rows = search.catalogue.documents(snapshot.documents["doc_id"].tolist())
    names = [rows[i].path.rsplit("/")[-1] for i in snapshot.documents["doc_id"].tolist()]
    ant, bee = log(4 / 3), log(4 / 2)
    one = (1 + log(2)) * ant, bee
    cells = found.take(np.array([names.index("one.txt")]))
    values = {
        vocabulary_word(vocabulary.columns, column): value
        for column, value in zip(cells.columns.tolist(), cells.values.tolist(), strict=True)
    }
    length = sqrt(one[0] ** 2 + one[1] ** 2)  # the ending, which all four names share, has ln(4 / 4)
    assert values["ant"] == pytest.approx(one[0] / length)
    assert values["bee"] == pytest.approx(one[1] / length)
    assert values[""] == pytest.approx(answers[names.index("one.txt")])
    assert values["one"] == 0  # the file's name, a word of this one alone
    own, asked = vocabulary.row_of(["ant", "ant", "unknown"])
    assert own.tolist() == [vocabulary.columns[b"ant"]]
    assert asked.tolist() == [1.0]
    search.close()


def vocabulary_word(columns: dict[bytes, int], column: int) -> str:
    return next((word.decode() for word, i in columns.items() if i == column), "")


def test_a_table_of_nothing_is_no_error(indexed: Device) -> None:
    """A condition may admit no document."""
    search = Search(Settings(), Paths(indexed.home / "config", indexed.data_dir))
    found, words = read_table(search.reading.snapshot, np.zeros(0, dtype=np.int64), np.zeros(0))
    assert found.times(np.zeros(found.n_columns)).tolist() == []
    assert words.row_of(["heron"])[1].tolist() in ([], [0.0])
    search.close()


def test_rows_do_not_depend_on_how_postings_are_read(indexed: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one run or in many, and beside other documents or alone, but for what that says of df."""
    search = Search(Settings(), Paths(indexed.home / "config", indexed.data_dir))
    snapshot = search.reading.snapshot
    n, read = snapshot.alive.size, snapshot.all_postings
    whole, words = read_table(snapshot, np.arange(n), np.ones(n))
    monkeypatch.setattr(snapshot, "all_postings", lambda field: read(field, 1))
    cut, same = read_table(snapshot, np.arange(n), np.ones(n))
    weights = np.random.default_rng(0).normal(size=whole.n_columns)
    turned = np.zeros(cut.n_columns)
    turned[[*(same.columns[word] for word in words.columns), -1]] = weights
    assert cut.times(turned) == pytest.approx(whole.times(weights), abs=1e-6)
    search.close()
