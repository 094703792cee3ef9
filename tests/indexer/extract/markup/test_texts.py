"""Plain text, light markup and source: text as written, and the title found in it."""

from __future__ import annotations

import time

import pytest

from indexer.documents import MEGABYTE


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.txt", "just words\nand more\n", ""),
        ("a.txt", "A Report\n========\n\ntext", "A Report"),
        ("a.txt", "A long line of text\n---\n", ""),
        ("a.md", "intro\n\n# The *Title* with `code` #\n", "The Title with code"),
        ("a.md", "---\ntitle: \"From front matter\"\ntags: x\n---\n# Heading\n", "From front matter"),
        ("a.md", "```sh\n# a comment\n```\n## Real\n", "Real"),
        ("a.md", "Setext title\n============\n\n# Later\n", "Setext title"),
        ("a.md", "# [Linked](http://x.y) title\n", "Linked title"),
        ("a.md", "Backup\n\n1. Run\n\n   ```sh\n   # mount the disk first\n   ```\n", ""),
        ("a.md", "- a\n\n    ~~~~\n    # no title\n    ~~~\n    ~~~~\n\n## Real *title* ##\n", "Real title"),
        ("a.md", "# _The_ max_file_mb of __a_b__\n", "The max_file_mb of a_b"),
        ("a.txt", "= User Manual\n\n----------\n$ man clone\n----------\n", "User Manual"),
        ("a.rst", ".. comment\n\n=====\nTitle\n=====\n\ntext\n", "Title"),
        ("a.txt", "====== Greenhouse ======\n\ntext\n", "Greenhouse"),
        ("a.rst", "PEP: 12\nVersion: 1\nTitle: Walrus\n  operators\n\nAbstract\n========\n", "Walrus operators"),
        ("a.rst", "Section :ref:`here <x>`\n-----------------------\n", "Section here"),
        ("a.rst", "====  ====\na     b\n====  ====\n\nAfter\n=====\n", "After"),
        ("a.org", "#+TITLE: My notes\n* Heading\n", "My notes"),
        ("a.org", "* TODO [#A] Buy milk  :home:\n", "Buy milk"),
        ("a.tex", "% \\title{no}\n\\title[short]{On {\\em Nested} braces\\thanks{me}}\n", "On Nested braces"),
        ("a.tex", "\\title{\\\"Uber Fl{\\\"o}{\\ss}e}\n", "Über Flöße"),
        ("a.tex", "\\section*{Only a section}\n", "Only a section"),
        ("a.asc", "[[id]]\n=== Chapter\n\ntext\n", "Chapter"),
        ("a.adoc", "= Doc title\n:toc:\n\n== Section\n", "Doc title"),
        ("a.pod", "=head1 NAME\n\nperlrun - how to B<run> C<< a->b >>\n\n=cut\n", "perlrun - how to run a->b"),
        ("a.pod", "=head1 NAME\nX<hash> X<array>\n\nperldata - data types\n", "perldata - data types"),
        ("a.1", ".TH LS 1\n.SH NAME\nls \\- list directory contents\n.SH X\n", "ls - list directory contents"),
        ("a.1", ".Dt LS 1\n.Sh NAME\n.Nm ls\n.Nd list files\n.Sh SYNOPSIS\n.Nm\n.Op Fl a\ntext\n", "ls list files"),
        ("a.1", "rotated log line\n", ""),
        ("a.py", '#!/usr/bin/python\n# c\n"""The first line.\n\nMore."""\n', "The first line"),
        ("a.py", "x = 1\n", ""),
        ("a.c", '/* "no title" */\n', ""),
    ],
)  # fmt: skip
def test_titles(single, name: str, text: str, title: str) -> None:
    """Each format's own way to say a title is understood; without one the title is empty."""
    assert single(name, text).title == title


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"Torfk\"orper, {\"U}ber, \"{o}l, Stra{\ss}e, Gro\ss e", "Torfkörper, Über, öl, Straße, Große"),
        (r"na\"{\i}ve \^{\i}le, fa\c{c}ade, Erd\H{o}s, \L{}\'od\'z, \v{s}", "naïve île, façade, Erdős, Łódź, š"),
        (r"\emph{heron} and \textbf{Donau\-dampf}", "heron and Donaudampf"),
        (r"\cite{x} \omega \dots \\'a \label{c}", r"\cite{x} \omega \dots \\'a \label{c}"),
    ],
)  # fmt: skip
def test_words_of_latex_are_those_that_are_printed(single, written: str, read: str) -> None:
    """Accents, letters with names and hints to hyphenate split no word; other commands stay as they are written."""
    assert single("a.tex", written).text == read
    assert single("a.bib", written).text == read


def test_subtitles_are_what_is_said(single) -> None:
    """Numbers, times and styles of SubRip, WebVTT and SubStation are left out, and lines stay where they are."""
    srt = "1\n00:00:01,000 --> 00:00:02,5\n<i>The heron</i>\n\n2\n00:00:03,000 --> 00:00:04,0\n{\\an8}7 o'clock\n12\n"
    assert single("a.srt", srt).text == "\n\nThe heron\n\n\n\n7 o'clock\n12\n"
    vtt = "WEBVTT\n\n00:01.000 --> 00:04.000 align:start\n<v Ann>It <00:02.000><c>waits</c>\n"
    assert single("a.vtt", vtt).text.split() == ["WEBVTT", "It", "waits"]
    ass = "Dialogue: 0,0:00:01.00,0:00:03.00,Default,Ann,0,0,0,,{\\i1}One, two{\\i0}\\Nthree\n"
    assert single("a.ass", ass).text == "One, two three\n"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a.py", "a.csv", "a.org", "a.adoc", "a.tex"])
def test_lines_stay_where_they_are(single, name: str) -> None:
    """Text formats keep every line, so that a line number means the same in the file and in the index."""
    assert single(name, "one\r\n\r\n  three\r\nfour").text == "one\n\n  three\nfour"


def test_markup_that_would_split_words_is_removed(single) -> None:
    """POD codes, roff fonts and data URIs leave words only."""
    assert "the run option" in single("a.pod", "=head1 X\n\nthe B<run> I<option>\n").text
    assert "bold word" in single("a.1", ".TH X 1\n.B bold\\fI word\\fR\n").text.replace("\n", " ")
    assert "QUJD" not in single("a.md", "![x](data:image/png;base64,QUJDQUJDQUJDQUJD) y").text


def test_a_long_text_is_cut_and_says_so(single) -> None:
    """Only the beginning of a long file is kept, of one line or of many."""
    for data in (b"zebra " + b"x" * 5_000, b"line\n" * 2_000):
        document = single("a.txt", data, max_text_bytes=3_000)
        assert len(document.text) == 3_000
        assert document.truncated == "first 3 kB"
    assert single("a.txt", "é" * 3_000, max_text_bytes=3_000).text == "é" * 1_500


def test_a_huge_file_is_not_read_whole(tmp_path) -> None:
    """Of a sparse file of 50 GB only the first megabytes are read."""
    from indexer.extract.kinds import extract_file
    from indexer.extract.source import Limits

    path = tmp_path / "huge.log"
    with path.open("wb") as stream:
        stream.write(b"first words\n" * 20_000)
        stream.truncate(50_000 * MEGABYTE)
    document = extract_file(str(path), Limits(max_text_bytes=100_000)).documents[0]
    assert document.text.startswith("first words")
    assert document.truncated == "first 100 kB"


def test_json_shows_keys_and_strings_without_escapes(single) -> None:
    """Escapes of JSON are undone, lines stay, and nothing needs to be well-formed."""
    document = single("a.json", '{"caf\\u00e9": "a\\nb \\"q\\" \\ud83d\\ude00",\n "broken": [\\u00')
    assert 'café": "a b "q" \N{GRINNING FACE}' in document.text
    assert document.text.count("\n") == 1
    assert (document.type, document.title) == ("data", "")


def test_a_deep_json_is_read(single) -> None:
    """Nesting of any depth is no matter."""
    assert len(single("a.json", "[" * 200_000).text) == 200_000


def test_tables_are_data(single) -> None:
    """CSV and TSV of any encoding are data with lines as written."""
    document = single("a.csv", "name;city\nBjörk;Łódź\n".encode("utf-16"))
    assert (document.text, document.type) == ("name;city\nBjörk;Łódź\n", "data")


@pytest.mark.parametrize("head", ["\n" * 26, " \n#\n" * 13, "\n" * 9_000, '"""' + " " * 19_000])
def test_empty_lines_before_code_cost_nothing(single, head: str) -> None:
    """Each of them once doubled the time in which a title was looked for."""
    began = time.process_time()
    assert single("a.py", head + "okapi = 1\n").title == ("" if "#" in head or "\n" in head else "okapi = 1")
    assert time.process_time() - began < 1
