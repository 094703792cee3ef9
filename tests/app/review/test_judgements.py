from __future__ import annotations

from pathlib import Path

import pytest

from app.review.judgements import Answer, Judgement, JudgementBook
from app.store import Store


@pytest.fixture
def book(tmp_path: Path) -> JudgementBook:
    return JudgementBook(Store(tmp_path / "state.sqlite"))


def judgement(name: str, answer: Answer) -> Judgement:
    return Judgement(name.encode(), f"/notes/{name}", "part 1", "Title", answer, 5.0)


def test_the_last_answer_to_a_document_stands(book: JudgementBook) -> None:
    """It takes the place of its time; undoing it restores the one before."""
    number = book.number_of("fish")
    for name, answer in (("a", "later"), ("b", "yes"), ("a", "no")):
        book.add(number, judgement(name, answer))  # type: ignore[arg-type]
    assert book.of(number) == [judgement("b", "yes"), judgement("a", "no")]
    assert book.take_back(number)
    assert book.of(number) == [judgement("a", "later"), judgement("b", "yes")]
    assert (book.review(number).n_found, book.review(number).n_judged) == (1, 1)


def test_reviews_are_kept_apart(book: JudgementBook) -> None:
    """One for each query, the newest first; forgetting one leaves the others, and no byte of itself."""
    first, second = book.number_of("heron secretword"), book.number_of("tax")
    assert book.number_of("heron secretword") == first
    book.add(first, judgement("secretname", "yes"))
    book.add(second, judgement("b", "no"))
    assert [one.query for one in book.reviews()] == ["tax", "heron secretword"]
    book.forget(first)
    assert [one.number for one in book.reviews()] == [second]
    assert book.of(second) == [judgement("b", "no")]
    files = book._store.path.parent.glob("state.sqlite*")
    assert not any(word in path.read_bytes() for path in files for word in (b"secretword", b"secretname"))


def test_a_path_that_is_no_text_comes_back(book: JudgementBook) -> None:
    """It is the same byte for byte."""
    number = book.number_of("fish")
    book.add(number, judgement("f\udcff.txt"[:1], "yes")._replace(path="/notes/f\udcff.txt"))
    assert book.of(number)[0].path == "/notes/f\udcff.txt"
