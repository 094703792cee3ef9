"""RTF made by hand."""

from __future__ import annotations

import pytest

from indexer.errors import ExtractionError


def test_rtf_text_and_properties(single) -> None:
    """Escapes of a code page and of Unicode are undone; title and author come from the information group."""
    document = single(
        "a.rtf",
        "{\\rtf1\\ansi\\ansicpg1250{\\fonttbl{\\f0 Arial;}}{\\info{\\title P\\'f8\\'edklad}{\\author Ann}}"
        "{\\header top\\par}ze\\b bra\\b0 \\u8364? {\\pict 00}\\'e9\\par next}",
    )
    assert document.title == "Příklad"
    assert document.author == "Ann"
    assert "zebra€" in document.text
    assert "é\nnext" in document.text
    assert "top" in document.text


def test_a_title_that_is_there_in_unicode_too_is_read_so(single) -> None:
    """LibreOffice writes a title twice where the code page has not all its letters."""
    document = single(
        "toplanti.rtf",
        b"{\\rtf1\\ansi{\\info{\\upr{\\title Toplant\\'3fs\\'3f}{\\*\\ud{\\title Toplant\\u305\\'3fs\\u305\\'3f}}}"
        b"{\\author Ann}}{\\pard text\\par}}",
    )
    assert (document.title, document.author) == ("Toplantısı", "Ann")


def test_rtf_pictures_cost_nothing(single) -> None:
    """Megabytes of hexadecimal digits are no text."""
    text = single("a.rtf", "{\\rtf1 before {\\pict\n" + ("0123456789abcdef" * 8 + "\n") * 20_000 + "} after}").text
    assert text.split() == ["before", "after"]


def test_what_is_no_rtf_is_malformed(extract) -> None:
    """A name alone makes no RTF."""
    with pytest.raises(ExtractionError) as failure:
        extract("a.rtf", "just words")
    assert failure.value.kind == "malformed"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"{\rtf1\ansi\pard\*\hyphen The quick \'e4 brown\par fox}", "The quick ä brown\nfox"),
        (r"{\rtf1{\*\unknown gone}{\fonttbl{\f0 Arial;}}\pard\*\x a\u233?b\tab\{c\}}", "aéb\t{c}"),
        ("{\\rtf1\\pard\\*\\x {\\pict\\bin4 }}{{} zebra}", "zebra"),
    ],
)
def test_where_the_first_reader_finds_nothing_the_second_one_does(single, source: str, text: str) -> None:
    """A mark to ignore in the middle of a group, and binary bytes that look like braces, hide nothing else."""
    assert single("a.rtf", source.encode("latin-1")).text.strip() == text


def test_an_rtf_without_text_says_so(extract) -> None:
    """Its name is found all the same."""
    found = extract("a.rtf", rb"{\rtf1{\fonttbl{\f0 Arial;}}}")
    assert (found.documents[0].text.strip(), found.notes) == ("", ("no text was found in it",))


def test_notes_and_comments_are_read(single) -> None:
    """As Word writes them: in a group of their own in the midst of a line."""
    text = single(
        "a.rtf",
        r"{\rtf1\ansi\pard zebra{\super\chftn{\footnote\pard\plain\chftn  Equus.\par}} runs{\*\atnauthor Ann}\chatn"
        r"{\*\annotation\pard\plain where to?\par} far.\par}",
    ).text
    assert text.split() == ["zebra", "Equus.", "runs", "where", "to?", "far."]
