"""Saved searches: @name in a query, written out; the file that keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.search import saved as module
from app.search.saved import SavedError, SavedSearches
from indexer.query.nodes import Problem
from tests.meanwhile import act_meanwhile

FILE = """\
# mine
tax = "type:pdf tax"   # the pdfs
"either" = "train OR bus"
"""


@pytest.fixture
def saved(tmp_path: Path) -> SavedSearches:
    (tmp_path / "searches.toml").write_text(FILE, encoding="utf-8")
    return SavedSearches(tmp_path / "searches.toml")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("@tax", "type:pdf tax"),
        ("@tax 2024", "type:pdf tax 2024"),
        ("letters @tax", "letters type:pdf tax"),
        ("@either", "train OR bus"),
        ("@either ticket", "(train OR bus) ticket"),
        ("ticket NOT @tax", "ticket NOT (type:pdf tax)"),
        ("-@tax ticket", "-(type:pdf tax) ticket"),
        ("(@tax) @either", "(type:pdf tax) (train OR bus)"),
        ("anna@tax.org", "anna@tax.org"),
        ('"@tax"', '"@tax"'),
        ("@ @1", "@ @1"),
    ],
)
def test_a_name_is_written_out(saved: SavedSearches, query: str, text: str) -> None:
    """With brackets where operators are about, and only where it is a word of its own."""
    assert saved.written_out(query).text == text
    assert saved.written_out(query).problems == ()


def test_an_unknown_name_stays_and_is_told(saved: SavedSearches) -> None:
    """With the nearest one; not while it may still become one, and not where nothing is saved."""
    told = saved.written_out("old @tx")
    assert told.text == "old @tx"
    assert told.problems == (Problem(4, 3, "no search is saved as @tx; did you mean @tax?"),)
    assert "there are @tax, @either" in saved.written_out("@zzzzzzz").problems[0].message
    assert saved.written_out("old @ta", as_you_type=True).problems == ()
    assert SavedSearches(Path("/no/such/file")).written_out("@anna").problems == ()


def test_problems_stand_where_they_were_typed(saved: SavedSearches) -> None:
    """What is wrong behind a name is marked there, what is wrong in its text at the name with its words."""
    written = saved.written_out("a @either (b")
    at = written.text.index("(b")
    assert written.text == "a (train OR bus) (b"
    assert written.as_typed([Problem(at, 1, "open")]) == (Problem("a @either (b".index("(b"), 1, "open"),)
    inside = Problem(2, len("@either"), "in the saved text at 'OR': inside")
    assert written.as_typed([Problem(written.text.index("OR"), 2, "inside")]) == (inside,)
    assert written.as_typed([Problem(0, 1, "before")]) == (Problem(0, 1, "before"),)


def test_saving_and_removing_keep_what_was_written_by_hand(saved: SavedSearches, tmp_path: Path) -> None:
    """Only the line in question changes; the file is for its owner alone."""
    saved.save("@trips", "  ferry \n OR train ")
    saved.save("tax", 'vat "a b"')
    assert dict(saved.all()) == {"tax": 'vat "a b"', "either": "train OR bus", "trips": "ferry OR train"}
    saved.remove("@either")
    text = (tmp_path / "searches.toml").read_text(encoding="utf-8")
    assert text == '# mine\ntax = "vat \\"a b\\""\ntrips = "ferry OR train"\n'
    assert dict(SavedSearches(tmp_path / "searches.toml").all()) == {"tax": 'vat "a b"', "trips": "ferry OR train"}


def test_searches_that_two_commands_save_at_once_are_both_kept(
    saved: SavedSearches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is where one of them removes another one."""
    others = SavedSearches(tmp_path / "searches.toml")
    other = act_meanwhile(module, lambda: others.save("bus", "kind:bus"), monkeypatch)
    saved.save("car", "kind:car")
    other.join()
    other = act_meanwhile(module, lambda: others.remove("tax"), monkeypatch)
    saved.save("car", "kind:van")
    other.join()
    assert saved.all() == {"either": "train OR bus", "car": "kind:van", "bus": "kind:bus"}


def test_a_new_file_is_made_with_its_folder(tmp_path: Path) -> None:
    """The first one that is saved."""
    new = SavedSearches(tmp_path / "config" / "searches.toml")
    new.save("grün", "bäume")
    assert new.written_out("@grün alt").text == "bäume alt"


@pytest.mark.parametrize("name", ["договор", "合同", "किराया", "บ้าน", "e\u0301te\u0301"])
def test_a_name_is_of_any_script(tmp_path: Path, name: str) -> None:
    """With the vowel signs and accents that stand beside its letters."""
    saved = SavedSearches(tmp_path / "searches.toml")
    saved.save(name, "type:pdf tax")
    assert saved.written_out(f"@{name} 2024").text == "type:pdf tax 2024"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("two words", "x", "wanted a name that begins with a letter"),
        ("1st", "x", "wanted a name that begins with a letter"),
        ("empty", "  ", "@empty: wanted a query, got nothing"),
        ("loop", "old @tax", "a saved search cannot hold another, got @tax"),
    ],
)
def test_what_cannot_be_saved_is_refused(saved: SavedSearches, name: str, text: str, says: str) -> None:
    """In one line; nothing is changed."""
    before = dict(saved.all())
    with pytest.raises(SavedError, match=says):
        saved.save(name, text)
    assert dict(saved.all()) == before


@pytest.mark.parametrize("content", ["tax = ", "tax = 3", 'tax = "a @other"', b"\xff", '"a b" = "c"'])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: str | bytes) -> None:
    """By the command as an error, in a query as a problem: the words are searched for all the same."""
    path = tmp_path / "searches.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SavedError, match=r"searches\.toml: wanted lines as tax"):
        SavedSearches(path).all()
    written = SavedSearches(path).written_out("@tax")
    assert written.text == "@tax"
    assert "searches.toml" in written.problems[0].message


def test_removing_what_is_not_there_names_the_nearest(saved: SavedSearches) -> None:
    """One line."""
    with pytest.raises(SavedError, match=r"no search is saved as @txa; did you mean @tax\?"):
        saved.remove("txa")
