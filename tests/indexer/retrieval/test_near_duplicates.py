"""Documents that answer a query alike, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.postings import Ints, Mask
from indexer.query.parse import parse
from indexer.retrieval.candidates import find
from indexer.retrieval.near_duplicates import (
    ABSENT,
    IN_TEXT,
    OUTSIDE,
    UNMARKED,
    Dates,
    alike,
    evidence,
    newest_first,
    numbers,
    series,
    twins,
    version,
)
from tests.indexer.retrieval.test_candidates import MakeIndex
from tests.matchers import matcher_of

DAY = 86_400.0


def together(n: int) -> tuple[Ints, Mask]:
    """Nothing keeps the candidates apart, and none is a version."""
    return np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)


def dates(
    modified: object, names: list[str], series: list[str], *, mails: bool = False,
    texts: tuple[float | None, ...] = (), by_name: bool = True,
) -> Dates:  # fmt: skip
    days, n = dict(enumerate(texts)), len(names)
    return Dates(np.array(modified, dtype=float), names, series, np.full(n, mails), days.get, np.full(n, by_name))


NAMES, TEXTS = " by their names", " by their texts"
NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("Minutes, 3 May 2024", "2024-05-03 board.md"), ("Minutes, 7 Mai 2025", "2025-05-07 board.md"), True),
        (("Release notes 2.3", "notes-2.3.html"), ("Release notes 2.10", "notes-2.10.html"), True),
        (("", "essay draft 1.md"), ("", "essay draft 2.odt"), True),
        (("Re: Contract renewal", ""), ("AW: contract renewal", ""), True),
        (("Minutes of the choir", "minutes.md"), ("Minutes of the board", "minutes.md"), False),
        (("", "letter.md"), ("", "letters.md"), False),
    ],
)  # fmt: skip
def test_a_series_is_a_title_and_a_name_but_for_numbers_and_months(
    one: tuple[str, str], other: tuple[str, str], same: bool
) -> None:
    assert (series(*one) == series(*other)) == same


def test_names_of_numbers_alone_make_no_series() -> None:
    """Daily notes "2024-03-01.md" share nothing that a query could name."""
    assert series("", "2024-03-01.md") == "" == series("Sunday, 7 March 2024", "2024-03.md")


def test_numbers_of_a_name_in_order() -> None:
    """The ending is not looked at; versions compare number by number."""
    assert numbers("v2.10-draft3.mp3") == (2, 10, 3) > numbers("v2.9-draft7.mp3")
    assert numbers("notes.md") == ()


def test_evidence_says_where_each_concept_stands(make_index: MakeIndex) -> None:
    """Outside the text counts more than in it, whichever field it is."""
    snapshot = make_index([
        {"text": "heron heron", "title": "", "path": "/a/b.txt"}, {"text": "stork", "title": "Heron"},
        {"text": "heron", "title": "", "path": "/stork/b.txt"},
    ]).snapshot()  # fmt: skip
    found = find(matcher_of(snapshot), parse("heron stork"), limit=9)
    levels = dict(zip(snapshot.documents["doc_id"][found.docs].tolist(), evidence(found).tolist(), strict=True))
    ids = snapshot.documents["doc_id"].tolist()
    assert [levels[i] for i in ids] == [[IN_TEXT, ABSENT], [OUTSIDE, IN_TEXT], [IN_TEXT, OUTSIDE]]


def test_like_texts_are_alike_where_the_words_stand_in_the_same_places() -> None:
    """0, 1 and 2 resemble each other; the year asked for stands in the name of 1 alone, so 1 keeps its place."""
    levels = np.array([[OUTSIDE, ABSENT], [OUTSIDE, OUTSIDE], [OUTSIDE, ABSENT], [OUTSIDE, ABSENT]])
    near = np.array([[0, 1], [0, 2], [1, 2]])
    assert alike(levels, near, [""] * 4, np.array([1.0, 3.0, 2.0, 4.0]), *together(len(levels))).tolist() == [
        2,
        1,
        2,
        3,
    ]


def test_members_of_a_series_are_alike_for_what_their_titles_say() -> None:
    """Four minutes of one board, two of another, one of a choir: their texts need have nothing in common."""
    levels = np.full((7, 2), OUTSIDE)
    names = ["board", "club", "choir", "board", "board", "board", "club"]
    scores = np.array([1.0, 2.0, 9.0, 4.0, 3.0, 0.5, 7.0])
    assert alike(levels, NO_PAIRS, names, scores, *together(len(levels))).tolist() == [3, 6, 2, 3, 3, 3, 6]


def test_what_some_texts_of_a_series_say_tells_them_apart() -> None:
    """ "Board" is in all titles, "budget" in two of five texts: those two are about it, the others are alike."""
    levels = np.array([[OUTSIDE, IN_TEXT], [OUTSIDE, ABSENT], [OUTSIDE, IN_TEXT], [OUTSIDE, ABSENT], [OUTSIDE, ABSENT]])
    scores = np.array([5.0, 3.0, 4.0, 2.0, 1.0])
    assert alike(levels, NO_PAIRS, ["board"] * 5, scores, *together(len(levels))).tolist() == [0, 1, 2, 1, 1]


def test_what_all_texts_of_a_series_say_does_not() -> None:
    """ "Present" stands in each of the texts: the frame of the kind, not contents."""
    levels = np.array([[OUTSIDE, IN_TEXT]] * 5)
    assert alike(levels, NO_PAIRS, ["board"] * 5, np.arange(5.0), *together(5)).tolist() == [4] * 5


def test_a_series_that_is_asked_for_what_it_says_is_not_alike() -> None:
    """More of the words stand in the texts alone than in the names: a question about meetings, not for the newest; of
    the versions of one text it is."""
    levels = np.array([[OUTSIDE, IN_TEXT, IN_TEXT]] * 5)
    given = levels, NO_PAIRS, ["board"] * 5, np.arange(5.0), np.zeros(5, dtype=np.int64)
    assert alike(*given, np.zeros(5, dtype=bool)).tolist() == [0, 1, 2, 3, 4]
    assert alike(*given, np.ones(5, dtype=bool)).tolist() == [4] * 5


def test_what_is_named_is_not_alike_to_what_is_not() -> None:
    """Like texts, like places of the words: but one of them is what was typed."""
    levels = np.array([[OUTSIDE]] * 3)
    assert alike(levels, NO_PAIRS, ["n"] * 3, np.arange(3.0), np.array([0, 2, 0]), together(3)[1]).tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("modified", "names", "mails", "texts", "newest", "how"),
    [
        ([9e6, 1e6, 0], ["bill 15.03.2023.md", "bill 01.02.2024.md", "bill 20.12.2022.md"], False, (), 1, NAMES),
        ([9e6, 1e6, 0], ["15mar23 bill.md", "01feb24 bill.md", "2dec22 bill.md"], False, (), 1, NAMES),
        ([0, 9e6, 1e6], ["a.md", "b 2024.md", "c.md"], False, (), 1, ""),
        ([0, 9e6, 1e6], ["m 2026-01-01", "m 2024-01-01", "m 2025-01-01"], True, (), 1, ""),
        ([3, 2, 1], ["a.md", "b.md", "c.md"], False, (5.0, 6.0, 7.0), 2, TEXTS),
        ([3, 2, 1], ["a.md", "b.md", "c.md"], False, (5.0, None, 7.0), None, ""),
    ],
)  # fmt: skip
def test_what_says_which_is_newest(
    modified: list[float], names: list[str], mails: bool, texts: tuple[float | None, ...], newest: int | None, how: str
) -> None:
    """The dates in all names before those of the files; of mails their own; of copies made at once those in texts."""
    given = dates(modified, names, ["", "", "other"], mails=mails, texts=texts)
    dealt, said = newest_first(np.array([3.0, 2.0, 1.0]), np.zeros(3, dtype=np.int64), given)
    if newest is None:
        assert (dealt.tolist(), said) == ([3.0, 2.0, 1.0], [""] * 3)
    else:
        assert (int(dealt.argmax()), said[newest]) == (newest, f"newest of 3 alike{how}")


def test_a_year_in_one_name_counts_though_all_texts_hold_the_number() -> None:
    """Each text says "1" somewhere, the name of one does: that one is asked for."""
    levels = np.array([[OUTSIDE, OUTSIDE], [OUTSIDE, IN_TEXT], [OUTSIDE, IN_TEXT]])
    assert alike(levels, NO_PAIRS, ["essay"] * 3, np.array([3.0, 2.0, 1.0]), *together(len(levels))).tolist() == [
        0,
        1,
        1,
    ]


def test_the_scores_of_a_class_are_dealt_out_newest_first() -> None:
    """1, 2 and 4 are alike: 5, 3 and 1 points go to ages 0, 10 and 20 days; the others keep theirs."""
    scores = np.array([4.0, 5.0, 3.0, 2.0, 1.0])
    ages = np.array([1.0, 20.0, 10.0, 2.0, 0.0])
    classes = np.array([0, 1, 1, 3, 1])
    dealt, said = newest_first(scores, classes, dates(-ages * DAY, ["a"] * 5, [""] * 5))
    assert dealt.tolist() == pytest.approx([4.0, 1.0, 3.0, 2.0, 5.0], abs=1e-5)
    assert said == ["", "older of 3 alike", "", "", "newest of 3 alike"]


def test_equal_scores_are_told_apart_too() -> None:
    """The order of equal scores would be that of the index."""
    one = np.zeros(3, dtype=np.int64)
    dealt, _ = newest_first(np.full(3, 7.0), one, dates(np.array([0, 9, 5]) * DAY, ["a"] * 3, [""] * 3))
    assert np.argsort(-dealt, kind="stable").tolist() == [1, 2, 0]


def test_files_written_in_one_go_are_as_new_as_their_names_say() -> None:
    """All within an hour: 2.10 is newer than 2.9, whichever was written last."""
    modified, classes = np.array([30.0, 10.0, 20.0]), np.zeros(3, dtype=np.int64)
    names = ["n-2.9.md", "n-2.10.md", "n-1.4.md"]
    dealt, said = newest_first(np.array([3.0, 2.0, 1.0]), classes, dates(modified, names, ["n"] * 3))
    assert np.argsort(-dealt).tolist() == [1, 0, 2]
    assert said == ["older of 3 alike by their numbers", "newest of 3 alike by their numbers", ""]
    for other in ("of others", ""):  # of another series, or of none
        apart = newest_first(np.array([3.0, 2.0, 1.0]), classes, dates(modified, names, ["n", "n", other]))[0]
        assert apart.tolist() == [3.0, 2.0, 1.0]
    asked = dates(modified, names, ["n"] * 3, by_name=False)  # for what texts say, as of the parts of a long one
    assert newest_first(np.array([3.0, 2.0, 1.0]), classes, asked)[0].tolist() == [3.0, 2.0, 1.0]


def test_words_behind_a_version_leave_it_one() -> None:
    """The signed plan leads, though the draft with remarks has further words in its name and the latest date."""
    names, modified = ["plan v1.md", "plan v2 with remarks.md", "plan signed.pdf"], [1.0, 9e6, 2.0]
    dealt, said = newest_first(
        np.array([3.0, 2.0, 1.0]), np.zeros(3, dtype=np.int64), dates(modified, names, ["plan", "plan with", "plan"])
    )
    assert np.argsort(-dealt).tolist() == [2, 1, 0]
    assert said[2] == "newest of 3 alike by their versions"


def test_a_version_has_the_number_beside_whatever_mark() -> None:
    """Of finals the third is newer than the second."""
    assert [version(name) for name in ("plan_final_v3", "plan draft 2 v1", "plan")] == [(2, 3), (1, 1), UNMARKED]


@pytest.mark.parametrize(("edited", "order"), [(9e6, [3, 0, 2, 1]), (1.5e6, [3, 2, 1, 0])])
def test_a_file_without_a_version_is_newer_than_numbers_before_it(edited: float, order: list[int]) -> None:
    """Plan is what is worked on, where it was changed last, else what all began with; the signed one leads."""
    names, moments = ["plan.md", "plan v1.md", "plan v2.md", "plan signed.md"], [edited, 1e6, 2e6, 3e6]
    given = dates(moments, names, ["plan"] * 4)
    dealt, _ = newest_first(np.array([4.0, 3.0, 2.0, 1.0]), np.zeros(4, dtype=np.int64), given)
    assert np.argsort(-dealt).tolist() == order


def test_nothing_says_which_is_newer() -> None:
    """One hour, no numbers: the class stays as it is, and nobody is called the newest."""
    one, modified = np.zeros(2, dtype=np.int64), np.array([5.0, 0.0])
    dealt, said = newest_first(np.array([1.0, 2.0]), one, dates(modified, ["a.md", "a.md"], ["a"] * 2))
    assert (dealt.tolist(), said) == ([1.0, 2.0], ["", ""])


@pytest.mark.parametrize(
    ("names", "types", "value", "twinned"),
    [
        (("guide.html", "guide.pdf"), ("html", "pdf"), 0.9, True),
        (("guide.html", "manual.txt"), ("html", "text"), 0.9, True),
        (("guide.html", "manual.txt"), ("html", "text"), 0.8, False),
        (("guide.html", "guide.txt"), ("html", "text"), 0.8, True),  # one name but for the ending
        (("guide.html", "guide-copy.html"), ("html", "html"), 1.0, False),  # a version, not another format
        (("report-2023.docx", "report-2024.pdf"), ("document", "pdf"), 0.95, False),
    ],
)
def test_twins_are_one_text_in_two_formats(
    names: tuple[str, str], types: tuple[str, str], value: float, twinned: bool
) -> None:
    found = twins(np.array([[0, 1]]), np.array([value]), names, types, (100, 100))
    assert found == ([(0, 1)] if twinned else [])
    assert twins(np.array([[0, 1]]), np.array([value]), names, types, (100, 10)) == []
