"""Notes: what stands in their heads, their tags and links; the lines of the text stay where they are."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.kinds import extract_source
from indexer.extract.markup.notes import links_in, moment_in, tags_in, without_front_matter
from indexer.extract.source import Limits, Source

Single = Callable[..., ExtractedDocument]

OBSIDIAN = """---
title: "Risotto: the basics"
tags: [cooking, "food/italian"]
aliases:
  - Milanese
  - 'Saffron rice'
date: 2024-03-05
up: "[[Recipes]]"
status: draft # a remark
summary: >
  for cold
  evenings
author: Anna Berg
is: unread
---

Stir [[Okapi BM25|it]] #slow/food
"""


def test_front_matter_becomes_properties(single: Single) -> None:
    """Lists, quotes, dates and folded lines; what has no name of ours keeps its own; a note is no mail."""
    note = single("a.md", OBSIDIAN)
    assert (note.title, note.author) == ("Risotto: the basics", "Anna Berg")
    assert note.properties == (
        ("tag", "cooking"), ("tag", "food/italian"), ("alias", "Milanese"), ("alias", "Saffron rice"),
        ("created", "2024-03-05T00:00:00"), ("up", "[[Recipes]]"), ("status", "draft"),
        ("summary", "for cold evenings"), ("note-is", "unread"), ("tag", "slow/food"), ("link", "Recipes"),
        ("link", "Okapi BM25"),
    )  # fmt: skip


def test_a_line_of_the_text_is_a_line_of_the_file(single: Single) -> None:
    """The head is gone from the text, its lines are empty."""
    text = single("a.md", OBSIDIAN).text
    assert text.strip() == "Stir [[Okapi BM25|it]] #slow/food"
    assert text.split("\n").index("Stir [[Okapi BM25|it]] #slow/food") == 16


def test_toml_front_matter(single: Single) -> None:
    """Between lines of +++ as Hugo has it, tables included."""
    note = single("a.md", "+++\ntitle = 'T'\ntags = ['a', 'b c']\ndate = 2024-01-01\n[extra]\nweight = 7\n+++\nbody\n")
    assert (note.title, note.text.strip()) == ("T", "body")
    assert note.properties == (("tag", "a"), ("tag", "b c"), ("created", "2024-01-01T00:00:00"), ("weight", "7"))


def test_front_matter_ends_with_a_line_of_its_own(single: Single) -> None:
    """Dots or dashes at the end of a value end nothing."""
    note = single("a.md", "---\ntitle: Wait...\nplace: here ---\ntags: [heron]\n---\nbody\n")
    assert (note.title, note.text.strip()) == ("Wait...", "body")
    assert note.properties == (("place", "here ---"), ("tag", "heron"))


@pytest.mark.parametrize(
    "text",
    [
        "---\nno mapping at all\n---\nb\n",
        "+++\nx = \n+++\nb\n",
        f"+++\nx = {'9' * 5000}\n+++\nb\n",
        "---\nopen: yes\nbody\n",
        "b\n---\n",
    ],
)
def test_what_is_no_front_matter_stays(text: str) -> None:
    """A rule, damaged TOML and a head without an end are text."""
    assert without_front_matter(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#todo/now and #café, (#paren) #a-b.", ["todo/now", "café", "paren", "a-b"]),
        ("# Heading\n## Two\n#tag at the start", ["tag"]),
        ("issue #123 and #12-5, C# foo#bar ##no [x](#part) &#39;", []),
        ("#fff #a1b2c3 #00ff00cc color: #abc;", []),
        ("#bad #decade #1on1", ["bad", "decade", "1on1"]),
    ],
)
def test_tags_in_the_text(text: str, tags: list[str]) -> None:
    """Neither headings, issues, colours, parts of words nor places in a page."""
    assert tags_in(text) == tags


def test_code_holds_no_tags_and_no_links(single: Single) -> None:
    """In fences and between backquotes nothing is looked for, also where a fence is not closed."""
    note = single("a.md", "`#no` ``[[no]]``\n\n```sh\n#no [[no]]\n```\n#yes\n~~~\n#no\n")
    assert note.properties == (("tag", "yes"),)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "`" * 700_000), ("a.md", "```" * 300_000 + "\n"), ("a.md", "[[" * 400_000), ("a.md", "> " * 400_000),
        ("a.md", "#a/" * 300_000), ("a.org", "#+begin_src\n" * 60_000), ("a.org", "[[a][" * 150_000),
        ("a.org", "".join(f"#+begin_{i}\n" for i in range(40_000))),
        ("a.org", "".join(f"#+begin_{i}\n#+end_x{i}\n" for i in range(20_000))), ("a.pod", "C<< " * 150_000),
        ("a.md", "# " + "[" * 700_000), ("a.vcf", "BEGIN:VCARD\n" + "QUOTED-PRINTABLE" * 60_000),
    ],
)  # fmt: skip
def test_marks_without_an_end_cost_little(extract: Callable[..., Extraction], name: str, text: str) -> None:
    """Nearly 1 MB of what opens and never closes is read in a moment; some of it took longer than a file may."""
    began = time.process_time()
    extract(name, "heron\n" + text)
    assert time.process_time() - began < 6


def test_blocks_of_org_are_left_out_each_to_its_own_end(single: Single) -> None:
    """In a block no tag is looked for; one that is not closed hides nothing."""
    note = single(
        "a.org",
        "#+begin_src\n* a :no:\n#+begin_quote\n#+END_SRC\n* b :yes:\n#+begin_x\n* c :too:\n#+end_quote\n* d :last:\n",
    )
    assert [value for name, value in note.properties if name == "tag"] == ["yes", "too", "last"]


def test_links_in_the_text() -> None:
    """Names without their heading and their other words, files without their place, no addresses."""
    text = (
        '[[A|b]] [[f/B#H]] ![[p.png]] [x](s/My%20note.md#h "t") [y](<a b.md>) [z](https://x.y) [m](mailto:a@b) [[#h]]'
    )
    assert links_in(text) == ["A", "f/B", "p.png", "s/My note.md", "a b.md"]


def test_the_properties_of_a_page_of_logseq(single: Single) -> None:
    """Title, tags and aliases are read, and their lines stay empty; further down they are text."""
    note = single("a.md", "title:: Lake Saimaa\ntags:: water, [[north]]\nalias:: Saimaa\n\n- seals\n  id:: 64f0\n")
    assert note.title == "Lake Saimaa"
    assert note.properties == (("tag", "water"), ("tag", "north"), ("alias", "Saimaa"))
    assert note.text == "\n\n\n\n- seals\n  id:: 64f0\n"


def test_org(single: Single) -> None:
    """Keywords, drawers as org-roam writes them, tags of headlines, links; none inside blocks."""
    note = single("a.org", (
        ':PROPERTIES:\n:ID:       1234-abcd\n:ROAM_ALIASES: "Other name" short\n:END:\n#+title: Okapi BM25\n'
        "#+filetags: :search:ranking:\n#+date: [2024-03-05 Tue 10:20]\n#+author: Ann\n\n* TODO Head :work:\n"
        "[[id:99-ff][it]] [[file:s/x.org::*H]] [[Plain]] [[https://x.y][z]]\n#+begin_src\n[[no]]\n#+end_src\n"
    ))  # fmt: skip
    assert (note.title, note.author) == ("Okapi BM25", "Ann")
    assert note.text.split("\n")[9] == "* TODO Head :work:"
    assert note.text.strip().startswith("* TODO")
    assert note.properties == (
        ("id", "1234-abcd"), ("alias", "Other name"), ("alias", "short"), ("tag", "search"), ("tag", "ranking"),
        ("created", "2024-03-05T10:20:00"), ("tag", "work"), ("link", "99-ff"), ("link", "s/x.org"), ("link", "Plain"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-03-05", "2024-03-05T00:00:00"),
        ("2024-03-05 10:20", "2024-03-05T10:20:00"),
        ("<2024-3-5 Tue 10:20>", "2024-03-05T10:20:00"),
        ("2024/03/05", "2024-03-05T00:00:00"),
        ("2024-13-45", ""),
        ("yesterday", ""),
    ],
)
def test_dates(text: str, moment: str) -> None:
    """As people and programs write them; nonsense is none."""
    assert moment_in(text) == moment


@given(st.text(alphabet="-+:#[]()'\"|>\n\t ab1=,{}*", max_size=200), st.sampled_from(["a.md", "a.org"]))
def test_no_note_is_too_odd(text: str, name: str) -> None:
    """Whatever it holds, a note is read with all its lines, and its properties say something."""
    for head in (text, f"---\n{text}\n---\n", f"+++\n{text}\n+++\n", f"#+title: {text}"):
        note = extract_source(Source(name=name, data=head.encode()), Limits()).documents[0]
        assert note.text.count("\n") == head.count("\n")
        assert all(value.strip() for _, value in note.properties)
