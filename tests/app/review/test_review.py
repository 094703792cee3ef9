from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.review import review as module
from app.review.estimate import Estimate
from app.review.judgements import ReviewError
from app.review.review import Review, progress_line
from app.search.results import SearchRequest
from app.settings import LearningSettings, Settings
from tests.app.conftest import DOCUMENTS, Device
from tests.app.review.conftest import Open


def name_of(review: Review) -> str:
    shown = review.next()
    return Path(shown.hit.path).name if shown else ""


def read_all(review: Review, *, wanted: str = "fish") -> list[str]:
    """The names in the order of reading; what holds `wanted` matters."""
    read = []
    while (shown := review.next()) is not None:
        read.append(Path(shown.hit.path).name)
        review.answer(shown, "yes" if wanted in review.preview(shown).text else "no")
    return read


def test_every_document_comes_once_and_the_best_first(opened: Open) -> None:
    """Even those without any of the words; at the end everything is known."""
    review = opened("kingfisher fish")
    read = read_all(review)
    assert read[0] == "kingfisher.md"
    assert sorted(read) == sorted(Path(name).name for name in DOCUMENTS)
    assert progress_line(review.progress) == "4 found, all 6 documents read"


def test_an_answer_changes_the_order_at_once(device: Device, opened: Open) -> None:
    """Words of what matters raise documents without any word of the query; words of what does not lower them."""
    for i in range(12):
        (device.notes / f"otter{i}.txt").write_text(f"otter reed water {i if i else 'levee'}")
        (device.notes / f"money{i}.txt").write_text(f"loan credit teller {i}")
    device.index()
    review = opened("levee")
    first = review.next()
    assert first is not None
    assert Path(first.hit.path).name == "otter0.txt"
    review.answer(first, "yes")
    assert name_of(review).startswith("otter")
    assert review.undo()
    review.answer(first, "no")
    assert not name_of(review).startswith("otter")


def test_what_is_put_off_comes_last(opened: Open) -> None:
    """It can be answered then, and counts as unread until it is."""
    review = opened()
    first = review.next()
    assert first is not None
    review.answer(first, "later")
    assert review.progress.n_read == 0
    read = read_all(review)
    assert read[-1] == Path(first.hit.path).name
    assert len(read) == len(DOCUMENTS) == review.progress.n_read


def test_undo_and_another_process_see_the_same_next_document(opened: Open) -> None:
    """The order depends only on the answers."""
    review = opened()
    for answer in ("yes", "no", "later"):
        shown = review.next()
        assert shown is not None
        review.answer(shown, answer)  # type: ignore[arg-type]
    after_three = name_of(review)
    assert name_of(opened()) == after_three
    shown = review.next()
    assert shown is not None
    review.answer(shown, "no")
    assert review.undo()
    assert name_of(review) == after_three == name_of(opened())
    assert [review.undo() for _ in range(4)] == [True, True, True, False]
    assert name_of(review) == name_of(opened("fish"))
    assert len(review.book.reviews()) == 1


def test_judgements_follow_what_was_read(device: Device, opened: Open) -> None:
    """A moved file stays judged, a changed one comes back and says so, a deleted one stays counted."""
    read_all(opened(), wanted="waits")
    birds = device.notes / "birds"
    (birds / "heron.txt").rename(device.notes / "elsewhere.txt")
    (birds / "list.txt").write_text("a longer list: heron, ibis and a fish\n")
    (device.notes / "tax" / "invoice.html").unlink()
    device.index()
    review = opened()
    shown = review.next()
    assert shown is not None
    assert (Path(shown.hit.path).name, shown.before) == ("list.txt", "no")
    assert review.progress.n_read == len(DOCUMENTS)
    assert review.progress.n_documents == len(DOCUMENTS) + 1
    review.answer(shown, "yes")
    assert review.next() is None


def test_a_commit_meanwhile_is_seen(device: Device, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A removed document is not shown; the next look at the index brings the new ones."""
    review = opened("stork")
    first = name_of(review)
    (device.notes / "birds" / first).unlink()
    (device.notes / "new.txt").write_text("stork and crane\n")
    device.index()
    assert name_of(review) == "new.txt"
    (device.notes / "newer.txt").write_text("stork stork stork\n")
    device.index()
    assert name_of(review) == "new.txt"
    monkeypatch.setattr(module, "REREAD_SECONDS", 0.0)
    assert name_of(review) == "newer.txt"


def test_the_end_is_that_of_the_index_as_it_is_now(device: Device, opened: Open) -> None:
    """Files changed or added during the last documents come before the review says that all are read."""
    review = opened()
    read = read_all(review)
    (device.notes / "birds" / "list.txt").write_text("another list\n")
    (device.notes / "new.txt").write_text("stork\n")
    device.index()
    assert sorted(read_all(review)) == ["list.txt", "new.txt"]
    assert review.progress.n_read == len(read) + 2
    assert review.next() is None


def test_conditions_say_what_the_review_is_about(opened: Open) -> None:
    """Types, folders and words left out narrow it; words do not."""
    assert sorted(read_all(opened("fish dir:birds"))) == ["heron.txt", "kingfisher.md", "list.txt"]
    assert sorted(read_all(opened("fish -heron"))) == ["fish_counter.py", "invoice.html", "kingfisher.md"]
    assert read_all(opened("type:markdown")) == ["kingfisher.md"]
    assert read_all(opened("type:pdf fish")) == []


def test_copies_are_read_once(device: Device, opened: Open) -> None:
    """Files without any text are separate documents."""
    (device.notes / "copy.txt").write_text(DOCUMENTS["birds/list.txt"])
    for name in ("a.png", "b.png"):
        (device.notes / name).write_bytes(b"no picture")
    device.index()
    read = read_all(opened())
    assert len(read) == len(DOCUMENTS) + 2
    assert {"a.png", "b.png"} < set(read)


def test_nothing_is_taught_unasked(opened: Open) -> None:
    """On request each document that matters counts as opened once, and its search begins with it."""
    review = opened()
    read_all(review, wanted="nests")
    assert review.search.picks.count() == 0
    assert (review.teach(), review.teach(), review.search.picks.count()) == (1, 0, 1)
    assert review.search.store.count_interactions() == 0
    page = review.search.search(SearchRequest("fish"))
    opened_before = [
        review.search.picks.times(review.population.terms, hit.path, hit.part, now=0.0) for hit in page.hits
    ]
    assert np.count_nonzero(opened_before) == 1


@pytest.mark.parametrize("switched_off", [{"enabled": False}, {"remember_picks": False}])
def test_with_learning_switched_off_nothing_is_taught(opened: Open, switched_off: dict[str, bool]) -> None:
    """One is told, and what matters can still be taught once it is on again."""
    review = opened(settings=Settings(learning=LearningSettings(**switched_off)))
    read_all(review)
    with pytest.raises(ReviewError, match=r"learning\.enabled or learning\.remember_picks is off"):
        review.teach()
    assert review.search.picks.count() == 0
    assert review.book.take_untaught(review.about.number)


def test_what_was_learned_becomes_a_search(opened: Open) -> None:
    """A plain query gets words of what matters; one with operators stays as it is."""
    review = opened("river")
    read_all(review)
    assert review.as_search().startswith("river ")
    assert "fish" in review.as_search().split()
    assert opened("river OR boat").as_search() == "river OR boat"


def test_a_review_needs_a_state_that_can_be_kept(opened: Open) -> None:
    """It asks for no answer that could be lost; an unknown number is reported."""
    review = opened()
    with pytest.raises(ReviewError, match=r"there is no review 99; `foltr-search review --list`"):
        Review(review.search, 99)
    with pytest.raises(ReviewError, match=r"no review of 'fisch' was begun"):
        Review.of_query(review.search, "fisch", begun=True)
    review.search.unkept = "the disk is full"
    with pytest.raises(ReviewError, match="the disk is full"):
        Review(review.search, 1)


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (Estimate(0, 3, 9, 6, 6), "0 found, too few to estimate how many there are"),
        (Estimate(38, 200, 900, 3, 4), "38 of about 41, surely more than 90 %: you may stop"),
        (Estimate(36, 200, 900, 3, 4), "36 of about 39, surely more than 89 %: you may stop"),
        (Estimate(38, 200, 900, 9, 38), "38 of about 47, surely more than 49 %"),
        (Estimate(5, 9, 9, 0, 0), "5 found, all 9 documents read"),
        (Estimate(0, 0, 0, 0, 0), "no document meets the filters of the query"),
    ],
)
def test_progress_in_words(found: Estimate, line: str) -> None:
    """ "More than" is never used for what may be exactly that."""
    assert progress_line(found) == line
