"""What is typed is what is searched for: words in their form, headings without operators, rare words unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.search.results import SearchRequest
from app.search.search import Search
from tests.app.search.homes import searching

FILES = {
    **{
        f"books/{n}.md": f"# Edition {n}\n\nThe editions of this book, edition after edition.\n" * 3 for n in range(120)
    },
    "letters/ann.txt": "A long letter. " * 40 + "She edited it twice.\n",
    "sun.txt": "Estimates of the density of ionization and temperature in the solar corona.\n",
    "needle.txt": "The needle and the damage done, a song.\n",
    **{f"needs/{n}.txt": f"You need a song; the damage done is number {n}.\n" for n in range(40)},
    "bills/dentist.txt": "Invoice of the dentist.\n",
    "bills/garage.txt": "Invoice of the garage.\n",
    "make/flags.txt": "Compile with -fPIC for a library.\n",
    "make/words.txt": "fpic is a word here, without its dash: fpic fpic fpic.\n",
    "make/calls.c": "int f(void) { return sendmsg(); }\n",
    "make/talk.txt": "sendmsg sendmsg sendmsg: this text talks of it.\n",
    "music/Nina Simone/Sinnerman.wma": "",
    **{f"essays/{n}.txt": "An essay that names Nina Simone. " + "More is said here. " * n for n in range(15)},
}


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    with searching(tmp_path_factory.mktemp("typed"), FILES) as opened:
        yield opened


def first(search: Search, text: str) -> str:
    hits = search.search(SearchRequest(text)).hits
    return Path(hits[0].path).name if hits else ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("edited", "ann.txt"),  # far behind the first hundred by its score
        ("sendmsg()", "calls.c"),
        ("-fPIC", "flags.txt"),
        ("ESTIMATES OF THE DENSITY AND TEMPERATURE IN THE CORONA OR SUN", "sun.txt"),
        ("invoice !dentist", "garage.txt"),
        ("invoice && dentist", "dentist.txt"),
        ("needle damage done", "needle.txt"),
        ('zebra "solar corona"', "sun.txt"),  # the phrase must be there, the word beside it need not
    ],
)
def test_what_is_typed_stands_first(search: Search, text: str, name: str) -> None:
    """A word in its form, a call, a flag, a heading in capitals, signs of programmers."""
    assert first(search, text) == name


def test_a_word_that_the_index_holds_is_never_replaced(search: Search) -> None:
    """Also where forty files hold a near one together with the other words, and none holds all as typed."""
    page = search.search(SearchRequest("needle need number"))
    assert (page.searched, page.suggestion) == ("", "")


def test_a_misspelt_word_is_replaced(search: Search) -> None:
    """One edit from a word that is there, in a word that nobody holds."""
    assert search.search(SearchRequest("compiel library")).searched == "compile library"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("corona AND invoice", "only documents with both sides"),
        ("corona NOT solar", "documents with what follows are left out"),
        ("corona -solar", "documents with what follows are left out"),
        ('corona "solar density"', "only documents with these words in a row"),
    ],
)
def test_operators_are_said_where_little_is_found(search: Search, text: str, said: str) -> None:
    """So that who meant a word knows why nothing is there."""
    messages = [problem.message for problem in search.search(SearchRequest(text)).problems]
    assert messages == [f"read as an operator: {said}"]


def test_operators_are_not_said_where_enough_is_found(search: Search) -> None:
    assert search.search(SearchRequest("edition NOT invoice")).problems == ()


@pytest.mark.parametrize(
    ("text", "said"), [("re:x corona", "re:x: patterns are not supported"), ("#corona", "tag:corona finds the tag")]
)
def test_signs_of_other_programs_are_named(search: Search, text: str, said: str) -> None:
    """In one line."""
    (problem,) = search.search(SearchRequest(text)).problems
    assert said in problem.message


def test_a_recording_is_not_behind_all_texts(search: Search) -> None:
    """The song stands third, behind two of fifteen texts that name the singer."""
    hits = search.search(SearchRequest("Nina Simone")).hits
    assert [Path(hit.path).suffix for hit in hits[:4]] == [".txt", ".txt", ".wma", ".txt"]
