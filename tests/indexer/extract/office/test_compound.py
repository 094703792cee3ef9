"""The container of old Office files under damage: text or one failure, whatever is cut off or changed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from indexer.documents import ExtractedDocument
from indexer.errors import ExtractionError
from indexer.extract.decode import decode_page
from indexer.extract.kinds import extract_file, extract_source
from indexer.extract.source import Limits, Source
from tests.indexer.extract.office.compound_parts import compound, message, presentation, word, workbook

MADE = {
    "a.doc": word(b"zebra one\r", "Grüße\r", title="T"),
    "a.ppt": presentation([{"outline": "One", "shape": "zebra", "notes": "n", "comment": "c"}] * 3),
    "a.xls": workbook({"S": [["zebra", 1.5]] * 5}),
    "a.msg": message({"0037": "S", "1000": "zebra"}, people=[("B", "b@x", 1)], files={"a.txt": b"heron"}),
}


def damaged(whole: bytes, seed: int) -> Iterator[bytes]:
    """`whole` cut off at every twentieth, and forty times with up to twenty bytes changed."""
    yield from (whole[: len(whole) * i // 20] for i in range(20))
    rng = random.Random(seed)
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        yield bytes(data)


def survives(name: str, whole: bytes, seed: int) -> int:
    """Try all damages of one file; gives how many were still read."""
    n_read = 0
    for data in damaged(whole, seed):
        limits = Limits(cpu_ends=time.process_time() + 5)
        try:
            found = extract_source(Source(name=name, data=data), limits)
        except ExtractionError:
            continue
        for document in found.documents:
            assert len(document.text.encode()) <= limits.max_text_bytes
        n_read += 1
    return n_read


@pytest.mark.parametrize("name", MADE)
def test_damage_is_text_or_one_failure(name: str) -> None:
    """Some damages are survived, none raises anything else."""
    assert survives(name, MADE[name], seed=1) > 0


def test_damage_of_real_files(legacy_office: Path) -> None:
    """The same for the smaller real ones."""
    paths = [path for path in sorted(legacy_office.iterdir()) if path.stat().st_size < 30_000]
    assert sum(survives(path.name, path.read_bytes(), seed) for seed, path in enumerate(paths)) > 0


REAL = {
    "greek_heading_styles.doc": "Überschriften in nicht‑englischer Sprache",
    "testComment.doc": "Here is a comment",
    "testException1.doc": "Disability Access and Inclusion Plans",
    "testMSEquation-govdocs-863534.doc": "Lattice design strategy",
    "testWORD_phonetic.doc": "とうきょう",
    "testWORD_various.doc": "Footnote appears here",
    "testWORD_no_format.doc": "Administration och övervakning",
    "test_TIKA-1251.doc": "Ansvar- og oppgavefordeling",
    "eng_spa_mult.doc": "All human beings are born free and equal",
    "testPPT_embedded2.ppt": "Text for viewing",
    "testPPT_embeded.ppt": "The quick brown fox",
    "testPPT_custom_props.ppt": "Test extraction properties",
    "testComment.ppt": "Here is some text",
    "testEXCEL.xls": "Numbers and their Squares",
    "testEXCEL_dateFormats.xls": "2018-09-20",
    "legacy_sample.xls": "Number of freshwater ducks per year",
    "testEXCEL_WORKBOOK_in_capitals.xls": "Inventarliste",
}


@pytest.mark.parametrize(("name", "words"), REAL.items())
def test_words_of_real_files(legacy_office: Path, name: str, words: str) -> None:
    """What Word, PowerPoint, Excel and other programs wrote is found, dates as dates."""
    (document,) = extract_file(str(legacy_office / name), Limits()).documents
    assert words in document.text


def test_a_stream_beyond_the_limit_is_refused() -> None:
    """Before it is read."""
    with pytest.raises(ExtractionError) as failure:
        extract_source(
            Source(name="a.doc", data=compound({"WordDocument": bytes(9000)})), Limits(max_member_bytes=8000)
        )
    assert failure.value.kind == "too-large"


@pytest.mark.parametrize(
    ("data", "number", "text"),
    [
        (b"\xc7\xe5\xe1\xf0\xe0", 1251, "Зебра"),
        ("é".encode(), 65001, "é"),
        (b"\x8a", 10000, "ä"),
        (b"zebra", 99999, "zebra"),
    ],
)
def test_code_pages(data: bytes, number: int, text: str) -> None:
    """Windows' numbers, also those of UTF-8 and of the Macintosh; of an unknown one the text is guessed."""
    assert decode_page(data, number) == text


def test_the_streams_decide_and_not_the_name(single: Callable[..., ExtractedDocument]) -> None:
    """A presentation called .doc is a presentation, and a Word file without a name a document."""
    assert single("a.doc", presentation([{"outline": "zebra"}])).type == "presentation"
    assert single("README", word("zebra")).type == "document"
