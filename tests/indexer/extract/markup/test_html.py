"""HTML: visible text with whole words, the title, any charset."""

from __future__ import annotations

import time

import pytest

from indexer.extract.markup.html import read_html


def test_words_stay_whole_and_blocks_apart(single) -> None:
    """Inline tags do not break a word, block tags do."""
    text = single("a.html", "<p>3<b>.2</b>.20 foo<span>_bar</span></p><table><tr><td>a<td>b</table>x<br>y").text
    assert text.split() == ["3.2.20", "foo_bar", "a", "b", "x", "y"]


def test_unseen_parts_are_left_out(single) -> None:
    """Scripts, styles and the head are not text; the title is the title."""
    document = single(
        "a.html",
        "<html><head><title> A\n title </title><style>p{}</style></head><body>x<script>var zebra=1</script>"
        "<noscript>enable</noscript></body></html>",
    )
    assert (document.text, document.title, document.type, document.truncated) == ("x", "A title", "html", "")


def test_a_heading_serves_where_the_title_is_missing(single) -> None:
    """Without <title> the first <h1> is the title."""
    assert single("a.html", "<h2>no</h2><h1>Main <i>thing</i></h1>").title == "Main thing"


def test_headings_are_known_by_their_place(single) -> None:
    """Each line that a heading begins, inside of other tags and in capitals too; a picture and a script have none."""
    document = single(
        "a.html",
        "<title>t</title>\nbefore<h1>One <i>two</i></h1><p>a</p><div><H2>\n Three </H2>b<h3></h3></div><h2><img></h2>"
        "<script>'<h2>no</h2>'</script><header>c</header><h6>Six",
    )
    assert document.text == "before\nOne two\na\nThree\nb\nc\nSix"
    assert [document.text[start:].split("\n")[0] for start in document.headings] == ["One two", "Three", "Six"]
    assert single("a.html", "plain").headings == ()
    signs = single("a.html", "<p>&#1;no</p>&#x02;a&#01 b\x01c&#10;d&#12;e&#160;f")
    assert signs.headings == ()
    assert signs.text.split() == ["no", "a", "b", "c", "d", "e", "f"]


def test_the_declared_charset_is_used(single) -> None:
    """<meta charset> and the XML declaration name the encoding of bytes that are no UTF-8."""
    for head in ("<meta charset=iso-8859-2>", "<meta http-equiv=content-type content='text/html; charset=ISO-8859-2'>"):
        assert single("a.html", f"{head}<p>Łódź".encode("iso-8859-2")).text == "Łódź"
    declared = "<?xml version='1.0' encoding='iso-8859-2'?><html><body>Łódź</body></html>"
    assert single("a.xhtml", declared.encode("iso-8859-2")).text == "Łódź"


def test_author_and_entities(single) -> None:
    """The author comes from <meta>, entities are undone."""
    document = single("a.html", '<meta name="Author" content="Ann B."><p>a &amp; b&nbsp;c &copy;')
    assert document.author == "Ann B."
    assert document.text.split() == ["a", "&", "b", "c", "©"]


def test_broken_markup_is_read(single) -> None:
    """Markup cut anywhere gives the text before the cut."""
    whole = "<html><body><div><p>one <b>two</p></div><!-- c --><p title='a<b'>three</p></body></html>"
    for length in range(30, len(whole)):
        assert "one" in single("a.html", whole[:length]).text or length < 35


@pytest.mark.parametrize(
    ("markup", "n_words"),
    [
        ("<div>heron\n" * 90_000, 90_000),
        ("<ul><li>heron\n" * 60_000, 60_000),
        ("<x>heron\n" * 90_000 + "</y>" * 90_000, 90_000),
        ("<p " + " ".join(f"a{i}=1" for i in range(90_000)) + ">heron", 1),
    ],
    ids=["open blocks", "lists", "ends of nothing", "attributes"],
)
def test_a_page_of_endless_tags_costs_little_and_keeps_its_words(single, markup: str, n_words: int) -> None:
    """1 MB of elements in one another, or of attributes, is read in a moment: it took the parser up to a minute."""
    began = time.process_time()
    assert single("a.html", f"<title>Birds</title><h1>Herons</h1>{markup}").text.split().count("heron") == n_words
    assert time.process_time() - began < 6


def test_a_long_page_is_read_as_it_is_however_deep() -> None:
    """Elements beyond the depth give the same lines as those within it."""
    row = "<div><p>a <b>bold</b> heron</p><h2>Wing</h2>"
    deep = read_html((row * 3_000 + "</div>" * 3_000).encode())
    flat = read_html(((row + "</div>") * 3_000).encode())
    assert deep == flat
    assert deep.text.split("\n")[:3] == ["a bold heron", "Wing", "a bold heron"]
