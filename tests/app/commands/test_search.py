"""`search` as a user runs it: only results on stdout, exit codes, output formats, the same order each time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from app.commands.search import ORDERS
from app.search.results import ORDERS as KNOWN_ORDERS

if TYPE_CHECKING:
    from tests.app.conftest import Device


def paths(stdout: str) -> list[str]:
    return [line.partition("\t")[0] for line in stdout.splitlines()]


def test_found_nothing_found_and_error_have_exit_codes_0_1_2(indexed: Device) -> None:
    """Exit codes are those of grep; stdout has only what was found."""
    found, nothing, error = indexed.run("search", "heron"), indexed.run("search", "zebra"), indexed.run("search")
    assert (found.returncode, nothing.returncode, error.returncode) == (0, 1, 2)
    assert found.stderr == ""
    assert nothing.stdout == error.stdout == ""
    assert "nothing found" in nothing.stderr


def test_what_is_like_a_result_or_a_file_is_found(indexed: Device) -> None:
    """Both lead to the same words, more words narrow; a file that is not indexed, or like no other, is reported."""
    heron = indexed.notes / "birds" / "heron.txt"
    by_path = indexed.run("search", "--like", str(heron))
    assert paths(by_path.stdout)[0] == str(heron)
    kingfisher = str(indexed.notes / "birds" / "kingfisher.md")
    assert kingfisher in paths(by_path.stdout)
    indexed.run("search", "heron", "-n", "1")
    assert indexed.run("search", "--like", "1").stdout == by_path.stdout
    assert paths(indexed.run("search", "--like", str(heron), "type:markdown").stdout) == [kingfisher]
    for given in ("9", str(indexed.notes), "/no/such"):
        refused = indexed.run("search", "--like", given)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert given in refused.stderr


def test_without_an_index_it_says_so(device: Device) -> None:
    """A search before any indexing finds nothing and says what to do."""
    done = device.run("search", "heron")
    assert done.returncode == 1
    assert "nothing is indexed yet; to begin: `foltr-search index FOLDER`" in done.stderr


def test_all_words_are_one_query(indexed: Device) -> None:
    """Several arguments and one quoted argument are the same query; a leading `-` excludes a word."""
    apart, together = indexed.run("search", "heron", "water"), indexed.run("search", "heron water")
    assert apart.stdout == together.stdout != ""
    without = paths(indexed.run("search", "fish", "-kingfisher").stdout)
    assert str(indexed.notes / "birds" / "heron.txt") in without
    assert str(indexed.notes / "birds" / "kingfisher.md") not in without


@pytest.mark.parametrize(
    "options",
    [
        ["--json", "--paths0"],
        ["--json", "--format", "{path}"],
        ["--paths0", "--explain"],
        ["--vimgrep", "--json"],
        ["--vimgrep", "--explain"],
        ["--jsn"],
        ["--limit", "0"],
    ],
)
def test_options_that_cannot_be_are_refused(indexed: Device, options: list[str]) -> None:
    """Formats exclude one another, and a misspelt option is not searched for as a word."""
    assert indexed.run("search", "boat", *options).returncode == 2


def test_an_option_is_searched_for_behind_two_dashes(device: Device) -> None:
    """Without them it is taken for an option of this program, and the error says how to search for it."""
    refused = device.run("search", "--no-ff")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "to search for it: foltr-search search -- --no-ff" in refused.stderr
    (device.notes / "merge.txt").write_text("git merge --no-ff keeps the branch visible\n")
    device.index()
    assert paths(device.run("search", "--", "--no-ff").stdout) == [str(device.notes / "merge.txt")]


def test_orders_are_those_of_the_search() -> None:
    """--order offers exactly the orders that the search has."""
    assert ORDERS == KNOWN_ORDERS


def test_order_and_limit(indexed: Device) -> None:
    """--order name sorts by file name, --limit cuts, and the order is the same at each call."""
    names = indexed.run("search", "fish", "--order", "name", "--format", "{name}").stdout.splitlines()
    assert names == sorted(names)
    assert len(names) >= 3
    cut = indexed.run("search", "fish", "--order", "name", "--limit", "2", "--format", "{name}")
    assert cut.stdout.splitlines() == names[:2]
    learned = [indexed.run("search", "fish", "--format", "{name}").stdout for _ in range(3)]
    assert len(set(learned)) == 1


def test_colour_may_be_wanted_in_a_pipe(indexed: Device) -> None:
    """With `--color always` a pager gets the page as a terminal does; otherwise a pipe gets lines for programs."""
    page, lines = indexed.run("search", "heron", "--color", "always"), indexed.run("search", "heron")
    assert "\x1b[31m\x1b[1m" in page.stdout
    assert "\x1b" not in lines.stdout


def test_n_is_the_limit(indexed: Device) -> None:
    """`-n N` and `-nN` anywhere outside of quotes; -nests leaves out a word, and so does -n in quotes or behind --."""
    all_of_them = paths(indexed.run("search", "fish").stdout)
    assert len(all_of_them) == 3
    for arguments in (("-n", "2", "fish"), ("fish", "-n2"), ("fish", "-n", "2")):
        assert paths(indexed.run("search", *arguments).stdout) == all_of_them[:2]
    without = paths(indexed.run("search", "fish", "-nests").stdout)
    assert len(without) == 2
    assert str(indexed.notes / "birds" / "kingfisher.md") not in without
    quoted = indexed.run("search", "fish -n 2")
    assert "-n leaves out the word 'n', as -word does; write -n N outside the quotes" in quoted.stderr
    assert paths(indexed.run("search", "--", "fish", "-n").stdout) == all_of_them
    assert indexed.run("search", "heron", "--format", "-n").stdout.splitlines() == ["-n"] * 3


def test_line_column_page_and_author_in_a_format(device: Device) -> None:
    """They are those of the passage that is shown; columns count from 1, in bytes; no page, no number."""
    (device.notes / "umlaut.txt").write_text("Zeile eins\nGrüße an den Marabu\n", encoding="utf-8")
    device.index()
    done = device.run("search", "marabu", "--format", "{line}:{column}:{page}:{author}:{size}")
    column, size = len("Grüße an den ".encode()) + 1, len("Zeile eins/Grüße an den Marabu/".encode())
    assert done.stdout == f"2:{column}:::{size}\n"


def test_a_malformed_query_still_answers_and_points_at_the_place(indexed: Device) -> None:
    """What was not understood is marked under the query on stderr; the rest is answered."""
    done = indexed.run("search", "boat (")
    assert done.returncode == 0
    assert paths(done.stdout) == [str(indexed.notes / "tax" / "invoice.html")]
    message, query, mark = done.stderr.splitlines()[:3]
    assert message.startswith("foltr-search: ")
    assert query.index("(") == mark.index("^")


def test_of_a_pasted_page_only_the_place_is_shown(indexed: Device) -> None:
    """Each problem shows only its surroundings, and nothing of it is obeyed by the terminal."""
    done = indexed.run("search", "boat \x1b[2J 日本語 (" + " rental" * 3000)
    assert done.returncode == 0
    assert max(map(len, done.stderr.splitlines())) < 120
    assert "\x1b" not in done.stderr
    _, query, mark = done.stderr.splitlines()[:3]
    assert query.index("日本語 (") + 3 + len("日本語") + 1 == mark.index("^"), "three characters of two columns"


def test_a_misspelt_word_is_searched_as_it_was_meant(indexed: Device) -> None:
    """A line and JSON say so; --as-typed searches for the word itself and suggests."""
    corrected = indexed.run("search", "kingfsher", "--json")
    assert "showing results for: kingfisher" in corrected.stderr
    assert json.loads(corrected.stdout.splitlines()[0])["searched"] == "kingfisher"
    assert "searched" not in json.loads(indexed.run("search", "kingfisher", "--json").stdout.splitlines()[0])
    typed = indexed.run("search", "kingfsher", "--as-typed")
    assert (typed.stdout, typed.returncode) == ("", 1)
    assert "did you mean: kingfisher" in typed.stderr


@pytest.mark.parametrize("query", ["", "  "])
def test_a_blank_query_finds_nothing(indexed: Device, query: str) -> None:
    """One line says that there is nothing to search for."""
    done = indexed.run("search", query)
    assert (done.stdout, done.returncode, done.stderr.count("\n")) == ("", 2, 1)
    assert "the query is empty" in done.stderr


def test_an_excerpt_of_plain_text_has_no_rules(device: Device) -> None:
    """Lines that underline a heading in a text are left out."""
    (device.notes / "boats.txt").write_text("Boats\n=====\n\nNAME\n----\na halyard\n", encoding="utf-8")
    device.index()
    shown = json.loads(device.run("search", "halyard", "--json").stdout)["snippet"]["text"]
    assert shown.split() == ["NAME", "a", "halyard"]


def test_a_result_of_an_html_page_names_its_heading(device: Device) -> None:
    """The heading over the passage is shown, and no page number, because HTML has none."""
    page = "<title>Boats</title><h1>Boats</h1><p>first<h2>Sails</h2><p>jib<h2>Ropes</h2><p>the halyard is worn</p>"
    (device.notes / "boats.html").write_text(page, encoding="utf-8")
    device.index()
    shown = json.loads(device.run("search", "halyard", "--json").stdout)["snippet"]
    assert (shown["heading"], shown["line"], shown["page"]) == ("Ropes", 6, 0)
    assert json.loads(device.run("search", "first", "--json").stdout)["snippet"]["heading"] == ""
    assert "[page" not in device.run("search", "halyard", "--vimgrep").stdout
