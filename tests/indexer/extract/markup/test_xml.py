"""XML: text per element, no entity ever expanded, nothing loaded from outside."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from indexer.errors import ExtractionError

LEVELS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
BOMB = f'<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a0 "zebra">{LEVELS}]><b>before &a11; after</b>'
"""Expanded it would hold the word 10**11 times."""


def test_character_data_and_title(single) -> None:
    """Each element with text is a line; the first <title> is the title; namespaces do not matter."""
    document = single("a.xml", '<x:a xmlns:x="u"><x:title>T</x:title><p>one <i>two</i></p></x:a>')
    assert (document.title, document.text.split(), document.type) == ("T", ["T", "one", "two"], "data")


def test_a_book_of_one_xml_file_is_a_book_under_its_title_without_its_pictures(single) -> None:
    """FictionBook: the title of the book and not of its first chapter; pictures are letters and digits for nobody."""
    book = (
        "<FictionBook><description><title-info><author><last-name>Byrne</last-name></author>"
        "<book-title>The Salt Road</book-title></title-info></description><body><title><p>One</p></title>"
        "<p>Forty camels.</p></body><binary id='cover.jpg'>okapi okapi</binary></FictionBook>"
    )
    document = single("salt.fb2", book)
    assert (document.title, document.type) == ("The Salt Road", "ebook")
    assert document.text.split() == ["Byrne", "The", "Salt", "Road", "One", "Forty", "camels."]


def test_a_book_has_its_author_and_not_who_scanned_it(single) -> None:
    """The name is joined from its parts."""
    book = (
        "<FictionBook><description><title-info><author><first-name>Ann</first-name><last-name>Byrne</last-name>"
        "</author><book-title>The Salt Road</book-title></title-info><document-info><author>"
        "<first-name>Scan</first-name></author></document-info></description></FictionBook>"
    )
    assert single("salt.fb2", book).author == "Ann Byrne"


def test_each_note_of_evernote_is_a_document(extract) -> None:
    """With its title, tags, author and date; without markup and pictures."""
    note = (
        "<note><title>Boiler {0}</title><content><![CDATA[<?xml version='1.0'?><en-note><div>Valve <b>stuck</b> &amp; "
        "cold</div></en-note>]]></content><created>20181102T090000Z</created><updated>2018110{0}T090000Z</updated>"
        "<tag>heating</tag><note-attributes><author>Ann</author></note-attributes><resource><data encoding='base64'>"
        "okapi</data><resource-attributes><timestamp>19700101T000000Z</timestamp></resource-attributes></resource></note>"
    )
    found = extract("House.enex", "<en-export>" + note.format(3) + note.format(4) + "</en-export>").documents
    assert [(one.part, one.title, one.author, one.type) for one in found] == [
        ("note 1", "Boiler 3", "Ann", "markdown"), ("note 2", "Boiler 4", "Ann", "markdown"),
    ]  # fmt: skip
    assert found[0].modified == datetime(2018, 11, 3, 9, tzinfo=UTC).timestamp()
    assert found[0].properties == (("tag", "heating"),)
    assert "Valve stuck & cold" in found[0].text
    assert "okapi" not in found[0].text


def test_each_page_of_a_wiki_is_a_document(extract) -> None:
    """Dated by its revision; too many stop the reading, with a note."""
    page = "<page><title>{0}</title><timestamp>2012-07-15T10:00:00Z</timestamp><text>of {0}</text></page>"
    wiki = "<mediawiki><siteinfo><sitename>Club</sitename></siteinfo>" + page.format("Boats") + page.format("Keys")
    boats, keys = extract("wiki.xml", wiki + "</mediawiki>").documents
    assert (boats.title, boats.part, keys.title) == ("Boats", "page 1", "Keys")
    assert boats.modified == datetime(2012, 7, 15, 10, tzinfo=UTC).timestamp()
    assert "Club" not in boats.text
    assert "Boats" not in keys.text
    cut = extract("wiki.xml", wiki + "</mediawiki>", max_total_text_bytes=25)
    assert (len(cut.documents), len(cut.notes)) == (1, 1)


def test_a_track_is_its_names(single) -> None:
    """Titled by the first; points are no words."""
    point = "<trkpt lat='47.1' lon='11.2'><ele>1901</ele><time>2022-08-14T06:01:00Z</time></trkpt>"
    gpx = (
        f"<gpx><metadata><name>Ridge walk</name></metadata><trk><name>Day 1</name><trkseg>{point}</trkseg></trk></gpx>"
    )
    document = single("a.gpx", gpx)
    assert (document.title, document.text) == ("Ridge walk", "Ridge walk\nDay 1\n")


def test_an_xbrl_report_is_found_by_its_facts_and_its_notes(single) -> None:
    """Facts are lines of their own; a note, which XBRL keeps as escaped HTML, is its text without tags."""
    report = (
        "<xbrli:xbrl xmlns:xbrli='http://www.xbrl.org/2003/instance' xmlns:t='urn:t'>"
        "<xbrli:context id='c'><xbrli:entity><xbrli:identifier scheme='s'>walrus-gmbh</xbrli:identifier></xbrli:entity>"
        "</xbrli:context><t:Revenue contextRef='c' decimals='0'>1234567</t:Revenue>"
        "<t:Note contextRef='c'>&lt;p&gt;Leases of &lt;b&gt;okapi&lt;/b&gt; barns&lt;/p&gt;</t:Note></xbrli:xbrl>"
    )
    document = single("2024.xbrl", report)
    assert document.type == "data"
    assert document.text.split() == ["walrus-gmbh", "1234567", "Leases", "of", "okapi", "barns"]


def test_tags_that_are_meant_as_text_stay_where_no_feed_keeps_pages(single) -> None:
    """An example of HTML in a manual is text as it is written."""
    text = single("a.xml", "<book><programlisting>&lt;b&gt;zebra&lt;/b&gt;</programlisting></book>").text
    assert text.strip() == "<b>zebra</b>"


def test_entities_are_never_expanded(extract) -> None:
    """A bomb of nested entities gives the text around them at once."""
    text = extract("a.xml", BOMB).documents[0].text
    assert "before" in text
    assert len(text) < 10_000
    assert "zebrazebra" not in text


def test_external_entities_are_not_loaded(extract, tmp_path) -> None:
    """A reference to a file on this machine stays unread."""
    secret = tmp_path / "secret"
    secret.write_text("zebrasecret")
    found = extract("a.xml", f'<!DOCTYPE a [<!ENTITY e SYSTEM "file://{secret}">]><a>x &e; y</a>')
    assert "zebrasecret" not in found.documents[0].text


def test_broken_xml_is_read_with_a_note(extract) -> None:
    """What is not well-formed gives its text without tags, and says where the fault is."""
    found = extract("a.xml", "<a><b>words here</a>")
    assert "words here" in found.documents[0].text
    assert "line 1" in found.notes[0]


def test_nothing_but_a_fault_is_a_failure(extract) -> None:
    """A file of tags that do not close and no text is malformed."""
    with pytest.raises(ExtractionError) as failure:
        extract("a.xml", "<a><b><c")
    assert failure.value.kind == "malformed"


def test_a_long_text_is_cut(single) -> None:
    """Reading stops when enough text was found."""
    document = single("a.xml", "<a>" + "<p>0123456789</p>" * 50_000 + "</a>", max_text_bytes=1_000)
    assert (len(document.text), document.truncated) == (1_000, "first 1 kB")
