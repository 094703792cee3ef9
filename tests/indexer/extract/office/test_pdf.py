"""PDF made by hand: text, pages, title, form values, damage."""

from __future__ import annotations

import pytest

from indexer.errors import ExtractionError
from indexer.extract.kinds import extract_file
from indexer.extract.office.metadata import real_title
from indexer.extract.source import Limits


def pdf(*pages: str, title: str = "", more: str = "", page: str = "", objects: tuple[str, ...] = ()) -> bytes:
    """A PDF with one line of text per page; `more` goes into the catalogue, `page` into each page."""
    made = ["", f"<< /Type /Catalog /Pages 2 0 R {more} >>"]
    first = 5
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(len(pages)))
    made.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    made.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    made.append(f"<< /Title ({title}) /Author (Ann) >>")
    for i, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
        made.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 200] /Contents {first + 2 * i + 1} 0 R {page}"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        made.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    made += objects
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(made[1:], 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer << /Size {len(made)} /Root 1 0 R /Info 4 0 R >>"
    end = f"xref\n0 {len(made)}\n0000000000 65535 f \n{table}{trailer}"
    return data + f"{end}\nstartxref\n{len(data)}\n%%EOF".encode()


def test_text_pages_title_and_author(single) -> None:
    """Each page begins where `pages` says; the properties are read."""
    document = single("a.pdf", pdf("zebra one", "page two", title="A title"))
    assert document.text.split("\f") == ["zebra one", "page two"]
    assert [document.text[offset:][:4] for offset in document.pages] == ["zebr", "page"]
    assert (document.title, document.author, document.type) == ("A title", "Ann", "pdf")


def test_when_the_time_is_up_the_pages_read_are_kept(extract) -> None:
    """At least one page, with a word about it; with time enough all of them."""
    data = pdf("zebra one", "page two", "page three")
    (document,) = extract("a.pdf", data, cpu_ends=0.0).documents
    assert (document.text, document.pages) == ("zebra one", (0,))
    assert document.truncated == "first 1 of 3 pages, then the time was up"
    assert extract("a.pdf", data).documents[0].truncated == ""


def test_a_file_is_read_from_disk(tmp_path) -> None:
    """A path works as bytes do, with any name."""
    path = tmp_path / "a b ü.pdf"
    path.write_bytes(pdf("from disk"))
    assert extract_file(str(path), Limits()).documents[0].text == "from disk"


def test_values_of_a_form_are_text(single) -> None:
    """What was filled into a form is found."""
    appearance = "/Tx BMC BT /F1 12 Tf 2 2 Td (zebravalue) Tj ET EMC"
    field = (
        "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (zebravalue) /F 4 /Rect [20 20 300 40] /DA (/F1 12 Tf)"
        " /AP << /N 8 0 R >> >>"
    )
    shown = (
        "<< /Type /XObject /Subtype /Form /BBox [0 0 280 20] /Resources << /Font << /F1 3 0 R >> >>"
        f" /Length {len(appearance)} >>\nstream\n{appearance}\nendstream"
    )
    data = pdf("printed", more="/AcroForm << /Fields [7 0 R] >>", page="/Annots [7 0 R]", objects=(field, shown))
    assert single("a.pdf", data).text.split() == ["printed", "zebravalue"]


def test_a_long_text_is_cut_and_names_the_pages(extract) -> None:
    """What was kept is said in bytes and pages."""
    document = extract("a.pdf", pdf(*["0123456789"] * 5), max_text_bytes=15).documents[0]
    assert document.text == "0123456789\f0123"
    assert document.truncated == "first 15 bytes (2 of 5 pages)"


def test_a_pdf_without_text_says_so(extract) -> None:
    """Scanned pages are a document without text and a note."""
    found = extract("a.pdf", pdf(""))
    assert found.documents[0].text == ""
    assert "scanned" in found.notes[0]


@pytest.mark.parametrize("data", [b"%PDF-1.4 broken broken", b"%PDF-1.4\n", b"%PDF-1.7" + bytes(5000)])
def test_a_damaged_pdf_is_malformed(extract, data: bytes) -> None:
    """What PDFium cannot open is one failure with a reason."""
    with pytest.raises(ExtractionError) as failure:
        extract("a.pdf", data)
    assert failure.value.kind == "malformed"


def test_a_cut_off_pdf_is_read_or_malformed(extract) -> None:
    """PDFium repairs what it can; the rest is a failure, never another exception."""
    whole = pdf("zebra", "two")
    for length in range(20, len(whole), 23):
        try:
            extract("a.pdf", whole[:length])
        except ExtractionError as failure:
            assert failure.kind == "malformed"  # noqa: PT017


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Microsoft Word - Annual report", "Annual report"),
        ("Microsoft Word - report.doc", ""),
        ("untitled", ""),
        ("  A   good title ", "A good title"),
        ("12345", ""),
        ("Node.js guide", "Node.js guide"),
    ],
)
def test_titles_that_programs_left_are_none(title: str, shown: str) -> None:
    """A title of a person is kept, one of a program is not."""
    assert real_title(title) == shown


@pytest.mark.parametrize("form", ["", "/AcroForm << /Fields [] >>"])
def test_what_people_noted_on_a_page_is_text(single, form: str) -> None:
    """Comments and text beside the page's own, each once; not what links and windows hold, nor what it quotes."""
    kinds = ("Text", "FreeText", "Highlight", "Popup", "Link", "Highlight")
    said = ("ask Robin", "see annex", "is that so?", "ask Robin", "elsewhere", "printed")
    notes = tuple(
        f"<< /Type /Annot /Subtype /{kind} /Contents ({text}) /Rect [20 20 30 30] >>"
        for kind, text in zip(kinds, said, strict=True)
    )
    data = pdf("printed", page="/Annots [7 0 R 8 0 R 9 0 R 10 0 R 11 0 R 12 0 R]", objects=notes, more=form)
    assert single("a.pdf", data).text.splitlines() == ["printed", "ask Robin", "see annex", "is that so?"]
