"""Mail and notes as a person asks for them, on a real folder: people, states, attachments, threads, tags, links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from indexer.retrieval.features import NAMES
from tests.app.search.homes import searching

SAME_QUERY = NAMES.index("same_query")


def mail(number: int, subject: str, sender: str, text: str, *, answers: str = "", **headers: str) -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"], message["Message-ID"] = sender, subject, f"<m{number}@x>"
    message["Date"] = f"Mon, 0{number} Jan 2024 10:00:00 +0000"
    if answers:
        message["In-Reply-To"] = f"<{answers}@x>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    if "plan" in text:
        message.add_attachment(b"%PDF", maintype="application", subtype="octet-stream", filename="garden plan.bin")
    return message.as_bytes()


ANN, BEN, EVE = "Ann Berg <ann@example.org>", "Ben <ben@example.org>", "Eve <eve@example.org>"
MAILS = {
    "Mail/cur/1704103201.M1P1.host:2,S": mail(1, "Garden", ANN, "heron plan attached", To=BEN),
    "Mail/cur/1704103202.M1P1.host:2,RS": mail(2, "Re: Garden", BEN, "heron indeed", To=ANN, Cc=EVE, answers="m1"),
    "Mail/new/1704103203.M1P1.host": mail(3, "Re: Garden", EVE, "a third heron", To=ANN, answers="m2"),
    "Mail/cur/1704103204.M1P1.host:2,FS": mail(4, "Garden", EVE, "another heron, another garden", To=ANN),
    "box": b"From - Fri Jan 05 10:00:00 2024\r\nX-Mozilla-Status: 0000\r\n"
    + mail(5, "Re: Garden", ANN, "heron in the box", To=BEN, answers="m3").replace(b"\n", b"\r\n"),
}
NOTES = {
    "notes/okapi-bm25.md": "---\ntitle: Okapi BM25\naliases: [best match]\ntags: [search/ranking]\n---\nA formula.\n",
    "notes/by name.md": "See [[okapi-bm25]].\n",
    "notes/by title.md": "See [[Okapi BM25#Formula|it]].\n",
    "notes/by alias.md": "See [[Best Match]]. #search\n",
    "notes/by path.md": "See [it](../notes/okapi-bm25.md).\n",
    "notes/by word.md": "Okapi BM25 is only named.\n",
    "notes/other.md": "See [[Okapi]].\n",
    "notes/roam.org": ":PROPERTIES:\n:ID: ab-12\n:END:\n#+title: Roam note\n\ntext\n",
    "notes/from roam.org": "#+title: From\n\nSee [[id:ab-12][it]].\n",
}


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    with searching(tmp_path_factory.mktemp("mail"), MAILS | NOTES) as opened:
        yield opened


def ask(search: Search, text: str) -> ResultPage:
    page = search.search(SearchRequest(text))
    assert page.problems == ()
    return page


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("from:ann", {1, 5}),
        ("to:ann", {2, 3, 4}),
        ("to:eve", {2}),
        ("cc:eve", {2}),
        ("cc:ann", set()),
        ("subject:garden heron is:read", {1, 2, 4}),
        ("is:unread", {3, 5}),
        ("is:flagged", {4}),
        ("is:answered", {2}),
        ("has:attachment", {1}),
        ("attachment:plan", {1}),
        ("thread:m2@x", {1, 2, 3, 5}),
        ("thread:<m5@x> -from:ann", {2, 3}),
        ("thread:m4@x", {4}),
        ("thread:m9@x", set()),
    ],
)
def test_mail(search: Search, text: str, numbers: set[int]) -> None:
    """By people, state, attachment and thread; a thread goes over folders and mailboxes, a subject makes none."""
    found = {day for day in range(1, 6) if ask(search, f"{text} type:mail modified:2024-01-0{day}").n_matches}
    assert found == numbers


def test_of_people_alone_the_newest_comes_first(search: Search) -> None:
    """No word says which of their letters matters more; a word beside them brings the learned order back."""
    page = ask(search, "to:ann")
    assert [day_of(hit.modified) for hit in page.hits] == [4, 3]
    assert page.request.order == "modified"
    assert ask(search, "heron to:ann").request.order == "learned"
    assert ask(search, "heron -to:ann").request.order == "learned"


def test_a_thread_shares_a_row(search: Search) -> None:
    """Its best mail stands for it and says how many there are; a mail alone and a note are as ever."""
    page = ask(search, "heron")
    mails = [(hit.n_in_thread, day_of(hit.modified)) for hit in page.hits if hit.type == "mail"]
    assert sorted(n for n, _ in mails) == [1, 4]
    assert [hit.rank for hit in page.hits] == list(range(1, len(page.hits) + 1))
    assert all(hit.thread == "" for hit in page.hits if hit.type != "mail")
    assert page.n_matches == len(page.hits) + 3
    best = next(hit for hit in page.hits if hit.n_in_thread == 4)
    one_by_one = ask(search, f"heron thread:{best.thread}")
    assert {day_of(hit.modified) for hit in one_by_one.hits} == {1, 2, 3, 5}
    assert one_by_one.hits[0].doc_id == best.doc_id
    for order in ("modified", "name", "bm25"):
        assert len(search.search(SearchRequest("heron", order=order)).hits) == len(page.hits)
    newest = search.search(SearchRequest("heron type:mail", order="modified")).hits[0]
    assert (day_of(newest.modified), newest.n_in_thread) == (5, 4)


def test_the_lesson_is_about_the_mail_that_was_shown(search: Search) -> None:
    """A click on a row is one on the mail that stands for the thread."""
    page = ask(search, "heron garden")
    hit = next(hit for hit in page.hits if hit.n_in_thread == 4)
    assert page.features.shape[0] == len(page.hits)
    search.opened(page, hit)
    search.leave(page)
    again = ask(search, f"heron garden thread:{hit.thread}")
    picked = {one.doc_id for one, values in zip(again.hits, again.features, strict=True) if values[SAME_QUERY] > 0}
    assert picked == {hit.doc_id}


def day_of(moment: float) -> int:
    return round((moment - 1_704_103_200) / 86_400) + 1


@pytest.mark.parametrize("name", ["Okapi BM25", "okapi-bm25", "notes/okapi-bm25.md", "best match", "OKAPI bm25"])
def test_links_to_a_note(search: Search, name: str) -> None:
    """By each of its names those that link to it by any of its names; not those that only name it."""
    found = {os.path.basename(hit.path) for hit in ask(search, f'links:"{name}"').hits}
    assert found == {"by name.md", "by title.md", "by alias.md", "by path.md"}


def test_links_by_an_id(search: Search) -> None:
    """As org-roam links; and what nothing links to has no links."""
    assert [os.path.basename(hit.path) for hit in ask(search, 'links:"roam note"').hits] == ["from roam.org"]
    assert ask(search, "links:nothing").hits == ()


def test_tags_of_notes(search: Search) -> None:
    """From the head and from the text; a tag stands for those below it."""
    found = {os.path.basename(hit.path) for hit in ask(search, "tag:search").hits}
    assert found == {"okapi-bm25.md", "by alias.md"}
    assert [os.path.basename(hit.path) for hit in ask(search, "tag:search/ranking").hits] == ["okapi-bm25.md"]
