"""What describes a document is found: plain words, a name's words and phrases, dates and marks."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime

import numpy as np
import pytest

from indexer.properties import NAMES, PROPERTIES, mark, marks, moment, moments, note_key, note_names, shown
from indexer.query.parse import FILTER_NAMES, TEXT_NAMES, parse
from indexer.retrieval.candidates import Candidates, find
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from tests.matchers import matcher_of

MakeIndex = Callable[..., Index]
SONG = (("artist", "Nina Simone"), ("album", "Pastel Blues"), ("year", "1965"), ("duration", "10:21"))
PHOTO = (("camera", "Canon EOS 5D"), ("taken", "2026-05-01T10:00:00"), ("place", "38.72 N, 9.14 W"))
NOTE = (("tag", "#Food/Soup"), ("tag", "Two  Words"), ("link", "Okapi"))
MAIL = (("cc", "Nina Berg <nina@x.org>"), ("attachment", "plan.pdf"), ("is", "unread"))


@pytest.fixture(scope="module")
def described(make_index: MakeIndex) -> Snapshot:
    """Documents 0 to 5: song, photo, note, mail, Nina in the text, Simone before Nina; in two segments."""
    return make_index(
        [{"properties": SONG, "type": "audio"}, {"properties": PHOTO, "type": "image"}, {"properties": NOTE},
         {"properties": MAIL, "type": "mail"}, "nina simone is what this text is about",
         {"properties": (("artist", "Simone"), ("artist", "Nina"))}],
        sizes=(3,),
    ).snapshot()  # fmt: skip


def answer(snapshot: Snapshot, text: str) -> Candidates:
    query = parse(text, now=1_780_000_000.0)
    assert query.problems == ()
    return find(matcher_of(snapshot), query, limit=10)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("artist:nina", {0, 5}),
        ("performer:NINA", {0, 5}),
        ('artist:"nina simone"', {0}),
        ('"simone nina"', set()),
        ('"nina simone"', {0, 4}),
        ("nina AND simone", {0, 4, 5}),
        ("nina", {0, 3, 4, 5}),
        ("artist:nin*", {0, 5}),
        ("artist:=nina", {0, 5}),
        ("album:nina", set()),
        ("nina -artist:simone", {3, 4}),
        ("camera:canon", {1}),
        ("canon AND 5d", {1}),
        ("year:1965 artist:simone", {0}),
        ("duration:10:21", {0}),
        ("place:38.72", {1}),
        ("cc:nina", {3}),
        ("attachment:plan.pdf", {3}),
        ("is:unread", {3}),
        ("is:new", {3}),
        ("has:attachments", {3}),
        ("has:tag", {2}),
        ("tag:food/soup", {2}),
        ("tag:FOOD", {2}),
        ("tag:soup", set()),
        ('tag:"two words"', {2}),
        ("tag:two", set()),
        ("soup", {2}),
        ("link:okapi", {2}),
        ("taken:2026-05", {1}),
        ("taken:2026-05-01", {1}),
        ("taken:<2026-05", set()),
        ("taken:..2027", {1}),
        ("-taken:..2027", {0, 2, 3, 4, 5}),
        ("created:2026", set()),
        ("artist", set()),
        ("artis*", set()),
    ],
)
def test_what_a_query_finds(described: Snapshot, query: str, found: set[int]) -> None:
    """Names tie words, phrases and beginnings; marks are whole; a date that is not known is in no range."""
    candidates = answer(described, query)
    assert set(described.documents["doc_id"][np.flatnonzero(candidates.admitted)].tolist()) == found


def test_what_a_program_wrote_is_found_under_its_name_alone(make_index: MakeIndex) -> None:
    """`word` does not find all that Word saved."""
    snapshot = make_index([{"properties": (("producer", "Word 2019"),)}]).snapshot()
    assert (answer(snapshot, "word").n_matches, answer(snapshot, "creator:word").n_matches) == (0, 1)


def test_a_name_that_is_not_in_the_table_is_words(make_index: MakeIndex) -> None:
    """A value under a name that cannot be asked for is not lost."""
    snapshot = make_index([{"properties": (("mood", "melancholy"),)}]).snapshot()
    assert answer(snapshot, "melancholy").n_matches == 1


def test_documents_without_properties_keep_their_scores(make_index: MakeIndex) -> None:
    """A described document beside them that holds no word of the query changes no score and no order."""
    texts = ["heron heron lake", "heron", "lake and heron by the lake"]
    plain = answer(make_index([*texts, "x"]).snapshot(), "heron lake")
    beside = answer(make_index([*texts, {"text": "x", "properties": SONG}]).snapshot(), "heron lake")
    assert plain.docs.tolist() == beside.docs.tolist()
    assert plain.bm25f.tolist() == beside.bm25f.tolist()


def test_properties_are_merged_and_removed_as_texts_are(make_index: MakeIndex, fill: Callable[..., int]) -> None:
    """One segment after optimising answers as two did; a removed document is in no answer."""
    index = make_index([{"properties": SONG}, {"properties": PHOTO}], sizes=(1,), removed=(1,))
    with index.writer("test") as writer:
        writer.optimize()
    snapshot = index.snapshot()
    assert (answer(snapshot, "artist:nina").n_matches, answer(snapshot, "camera:canon").n_matches) == (1, 0)
    assert answer(snapshot, "taken:2026").n_matches == 0


def test_marks() -> None:
    """Tags without their sign, those above them too, each folded; states by one name; what there is, as has=."""
    assert marks(NOTE) == {"tag=food", "tag=food/soup", "tag=two words", "has=tag", "has=link", "link=okapi"}
    assert marks(MAIL) == {"has=cc", "has=attachment", "is=unread"}
    assert marks((("mood", "x"), ("is", "nonsense"))) == set()
    assert (mark("is", "starred"), mark("is", "foo"), mark("has", "keywords")) == ("flagged", None, "tag")


def test_moments() -> None:
    """The first date that a property tells, local where no zone is named; NaN for none and for nonsense."""
    assert moment("2026-05-01T10:00:00") == datetime(2026, 5, 1, 10).timestamp()
    assert moment("2026-05-01T10:00:00+02:00") == 1_777_622_400.0
    assert math.isnan(moment("0000:00:00"))
    taken, created = moments((("taken", "2026-05-01"), ("taken", "2027-05-01")))
    assert (taken, math.isnan(created)) == (datetime(2026, 5, 1).timestamp(), True)


def test_every_name_is_known_to_the_query_language() -> None:
    """Text ties words, dates and marks are conditions; an example is understood and shows its own name."""
    for name, one in PROPERTIES.items():
        assert (name in TEXT_NAMES) == (one.kind == "text")
        assert (name in FILTER_NAMES) == (one.kind != "text")
        assert one.example.startswith(f"{name}:")
        assert parse(one.example).problems == ()
    assert all(PROPERTIES[name] for name in NAMES.values())


def test_shown_by_name() -> None:
    """Values in order under each name."""
    assert shown(NOTE) == {"tag": ["#Food/Soup", "Two  Words"], "link": ["Okapi"]}


@pytest.mark.parametrize(
    ("link", "key"),
    [
        ("notes/Okapi BM25.md#Formula", "okapi bm25"),
        ("Okapi  BM25", "okapi bm25"),
        ("OKAPI BM25.org", "okapi bm25"),
        ("..\\Café.MD", "cafe"),
        ("paper.pdf", "paper.pdf"),
        ("v1.2", "v1.2"),
        (".md", ""),
    ],
)
def test_the_name_that_links_are_compared_by(link: str, key: str) -> None:
    """Neither folder, ending, heading, case nor accent; other files keep their ending."""
    assert note_key(link) == key


def test_the_names_of_a_note() -> None:
    """File, title, aliases and ids, each folded."""
    names = note_names("/n/okapi-bm25.md", "Okapi BM25", (("alias", "BM 25"), ("id", "AB-1"), ("tag", "x")))
    assert names == {"okapi-bm25", "okapi bm25", "bm 25", "ab-1"}
