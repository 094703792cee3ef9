"""LETOR text becomes exactly the numbers that it says."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from simulation.data import letor
from simulation.data.letor import parse_file
from simulation.data.queries import QuerySet
from simulation.errors import DataFileError

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "letor"


def parsed(folder: Path, text: str | bytes) -> QuerySet:
    path = folder / "data.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return parse_file(path)


def refused(folder: Path, text: str | bytes) -> str:
    with pytest.raises(DataFileError) as caught:
        parsed(folder, text)
    assert str(caught.value).startswith(f"{folder / 'data.txt'}, line {caught.value.line}: ")
    return str(caught.value).split("data.txt, ")[1]


def test_a_small_file_worked_by_hand(tmp_path: Path) -> None:
    """Grades, features that are missing or out of order, queries and comments are where the text has them."""
    found = parsed(
        tmp_path,
        "2 qid:7 1:0.5 3:-2 # docid = A-1\n0 qid:7 3:1e2 1:.25 #docid=B inc = 1\n1 qid:x9 2:5. #something else\n",
    )
    assert found.features.tolist() == [[0.5, 0, -2], [0.25, 0, 100], [0, 5, 0]]
    assert found.features.dtype == np.float32
    assert found.grades.tolist() == [2, 0, 1]
    assert found.offsets.tolist() == [0, 2, 3]
    assert found.qids == ("7", "x9")
    assert found.docids == ("A-1", "B", "")


def test_forms_that_say_the_same(tmp_path: Path) -> None:
    """Other line ends, no last one, empty lines, tabs, a byte order mark and lone comments change nothing."""
    plain = parsed(tmp_path, "1 qid:1 1:1 2:2\n0 qid:2 1:3\n")
    for text in (
        "1 qid:1 1:1 2:2\r\n0 qid:2 1:3\r\n",
        "1 qid:1 1:1 2:2\n0 qid:2 1:3",
        "1 qid:1 1:1 2:2\r0 qid:2 1:3\r",
        "\ufeff# about\r\r1 qid:1 1:1 2:2\r0 qid:2 1:3",
        "\n  \n# about\n1\tqid:1  1:1\t2:2 \n\r\n0 qid:2 1:3\n\n",
        "\ufeff1 qid:1 1:1 2:2\n0 qid:2 1:3\n#\n",
        "  1 qid:1 1:1 2:2#\n0 qid:2 1:3 # ",
    ):
        same = parsed(tmp_path, text)
        assert same.features.tolist() == plain.features.tolist()
        assert same.offsets.tolist() == [0, 1, 2]
        assert same.docids == ()


def test_a_grade_may_be_written_as_a_float(tmp_path: Path) -> None:
    """2.0 and 2. are 2, as where tables were written by a program that knows floats alone."""
    assert parsed(tmp_path, "2.0 qid:1 1:1\n2. qid:1 1:1\n0.00\tqid:1 1:1\n").grades.tolist() == [2, 2, 0]


def test_a_document_without_features_is_zeros(tmp_path: Path) -> None:
    """A line may end behind the query id."""
    assert parsed(tmp_path, "1 qid:1\n0 qid:1 2:1\n").features.tolist() == [[0, 0], [0, 1]]
    assert parsed(tmp_path, "1 qid:1").features.tolist() == [[0]]


HARD = (
    "0.1 1 -0 +5 5. .5 -.5 1e0 1E+3 1e-3 16777217 9007199254740993 9007199254740992 123456789012345678 "
    "0.30000000000000004 1e22 1e23 1e-22 1e-23 2.2250738585072014e-308 4.9e-324 1e-400 0e99999999999 "
    "0.000000000000000000000000000001 340282346638528859811704183484516925440 1.17549435e-38 1e-45 7.0e-46 "
    "100000000000000000000000000000000 18446744073709551615 18446744073709551616 1000000000000000000 "
    "1844674407370955161600000000 0.99999999999999999999 179769313486231570e-280 000000000000000000000000012.50 "
    "1.00000005960464477539062500 1.0000000596046447753906250000000000001"
)


def test_numbers_are_those_that_python_reads(tmp_path: Path) -> None:
    """Hard and random decimals have the bits of np.float32(float(text))."""
    rng = random.Random(5)
    words = HARD.split()
    for _ in range(5_000):
        words.append(f"{rng.uniform(-1000, 1000):.{rng.randrange(20)}f}")
        words.append(f"{rng.randrange(10 ** rng.randrange(1, 25))}e{rng.randrange(-60, 12)}")
        words.append(repr(struct.unpack("<f", struct.pack("<I", rng.randrange(0x7F800000)))[0]))
    with np.errstate(over="ignore"):
        words = [word for word in words if np.isfinite(np.float32(float(word)))]
        expected = np.array([np.float32(float(word)) for word in words])
    found = parsed(tmp_path, "".join(f"0 qid:1 1:{word}\n" for word in words)).features[:, 0]
    differing = np.flatnonzero(found.view(np.int32) != expected.view(np.int32))
    assert [words[i] for i in differing] == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x qid:1 1:1", "a grade, an integer from 0 to 127, was expected, 'x' came"),
        ("-1 qid:1 1:1", "a grade, an integer from 0 to 127, was expected, '-1' came"),
        ("128 qid:1 1:1", "a grade, an integer from 0 to 127, was expected, '128' came"),
        ("1.5 qid:1 1:1", "a grade, an integer from 0 to 127, was expected, '1.5' came"),
        (".0 qid:1 1:1", "a grade, an integer from 0 to 127, was expected, '.0' came"),
        ("1 1:1", "qid:ID was expected behind the grade, '1:1' came"),
        ("1 qid: 1:1", "qid:ID was expected behind the grade, the end of the line came"),
        ("1", "qid:ID was expected behind the grade, the end of the line came"),
        ("1 qid:1 0:1", "feature:value with an id from 1 to 99999 was expected, '0:1' came"),
        ("1 qid:1 100000:1", "feature:value with an id from 1 to 99999 was expected, '100000:1' came"),
        ("1 qid:1 a:1", "feature:value with an id from 1 to 99999 was expected, 'a:1' came"),
        ("1 qid:1 5", "feature:value with an id from 1 to 99999 was expected, '5' came"),
        ("1 qid:1 2:1 1:1 2:1", "feature 2 was expected once, '2:1' came"),
        ("1 qid:1 1:nan", "feature 1: a finite decimal number was expected, 'nan' came"),
        ("1 qid:1 1:-inf", "feature 1: a finite decimal number was expected, '-inf' came"),
        ("1 qid:1 1:", "feature 1: a finite decimal number was expected, the end of the line came"),
        ("1 qid:1 1:1.2.3", "feature 1: a finite decimal number was expected, '1.2.3' came"),
        ("1 qid:1 1:1e", "feature 1: a finite decimal number was expected, '1e' came"),
        ("1 qid:1 1:0x10", "feature 1: a finite decimal number was expected, '0x10' came"),
        ("1 qid:1 1:1_0", "feature 1: a finite decimal number was expected, '1_0' came"),
        ("1 qid:1 1:1e999", "feature 1: a number within the range of float64 was expected, '1e999' came"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    """The error has file and line, what was expected and what came, wherever the line stands."""
    assert refused(tmp_path, line) == f"line 1: {message}"
    for end in ("\n", "\r\n", "\r"):
        text = f"0 qid:1 1:1 3:1\n\n# lone\n{line} # c\n0 qid:1\n".replace("\n", end)
        assert refused(tmp_path, text) == f"line 4: {message}"


def test_a_file_without_documents_and_no_file(tmp_path: Path) -> None:
    """Both are errors of the file as a whole."""
    with pytest.raises(DataFileError, match="at least one document"):
        parsed(tmp_path, "# nothing\n\n")
    with pytest.raises(DataFileError, match="cannot be read"):
        parse_file(tmp_path / "absent.txt")


def test_compressed_files_read_as_plain_ones(tmp_path: Path) -> None:
    """gzip, bzip2 and xz are told by their first bytes; a truncated one is an error of the file."""
    text = b"".join(b"%d qid:%d 1:0.%d\n" % (i % 3, i // 5, i) for i in range(4000))
    plain = parsed(tmp_path, text)
    for packed in (gzip.compress(text), bz2.compress(text), lzma.compress(text)):
        unpacked = parsed(tmp_path, packed)
        np.testing.assert_array_equal(unpacked.features, plain.features)
        assert unpacked.qids == plain.qids
        with pytest.raises(DataFileError, match="cannot be read"):
            parsed(tmp_path, packed[: len(packed) // 2])


def test_bytes_that_are_no_text_are_called_so(tmp_path: Path) -> None:
    """Of an archive, or of another encoding, the line says to unpack it, not what its first bytes are."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("train.txt", "1 qid:1 1:1\n")
    for content in (held.getvalue(), "1 qid:1 1:1\n".encode("utf-16")):
        with pytest.raises(DataFileError, match="text in UTF-8 was expected, plain or packed by gzip, bzip2 or xz"):
            parsed(tmp_path, content)


def test_numbers_beyond_32_bits_are_the_largest_of_them(tmp_path: Path) -> None:
    """As in Istella, where some features are the largest number of 64 bits."""
    most = np.finfo(np.float32).max
    found = parsed(tmp_path, "1 qid:1 1:1.79769313486231570e+308 2:-1e39\n")
    assert found.features.tolist() == [[most, -most]]


def test_blocks_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any size of block, down to one shorter than a line, gives the same result, the same line of an error too."""
    lines = [f"{i % 3} qid:{i // 4} {1 + i % 7}:{i / 3} {10 + i // 9}:1 # docid = d{i}" for i in range(60)]
    whole = parsed(tmp_path, "\n".join(lines))
    broken = refused(tmp_path, "\n".join([*lines[:41], "\n", "1 qid:9 1:x", *lines[41:]]))
    assert broken.startswith("line 44: ")
    for size in (5, 64, 300):
        monkeypatch.setattr(letor, "BLOCK", size)
        same = parsed(tmp_path, "\n".join(lines))
        np.testing.assert_array_equal(same.features, whole.features)
        np.testing.assert_array_equal(same.offsets, whole.offsets)
        assert same.qids == whole.qids
        assert same.docids == whole.docids
        assert refused(tmp_path, "\n".join([*lines[:41], "\n", "1 qid:9 1:x", *lines[41:]])) == broken


def test_an_interrupted_query_is_put_together(tmp_path: Path) -> None:
    """Its documents keep the order of the file, the queries that of their first lines; nothing is lost."""
    found = parsed(tmp_path, "0 qid:b 1:1 #docid = 1\n1 qid:a 1:2 #docid = 2\n2 qid:b 1:3 #docid = 3\n3 qid:a 1:4\n")
    assert found.qids == ("b", "a")
    assert found.features[:, 0].tolist() == [1, 3, 2, 4]
    assert found.grades.tolist() == [0, 2, 1, 3]
    assert found.docids == ("1", "3", "2", "")


def test_ids_of_any_bytes_stay_apart(tmp_path: Path) -> None:
    """Words of an encoding that is not UTF-8 are two queries, not one."""
    assert parsed(tmp_path, "0 qid:é 1:1\n1 qid:è 1:2\n".encode("latin-1")).n_queries == 2


NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def twin(text: bytes) -> tuple[list[tuple[int, str, dict[int, float]]], int]:
    """Line by line with Python's own words: documents as (grade, qid, features), and the first bad line or 0."""
    documents = []
    for number, line in enumerate(text.split(b"\n"), start=1):
        words = line.split(b"#")[0].split()
        if not words:
            continue
        try:
            grade, qid, *pairs = words
            if not (grade.isdigit() and int(grade) <= 127 and qid.startswith(b"qid:") and len(qid) > 4):
                return documents, number
            features: dict[int, float] = {}
            for pair in pairs:
                feature, value = pair.split(b":")
                most = np.finfo(np.float32).max
                single = np.float32(np.clip(float(value), -most, most))
                known = not feature.isdigit() or int(feature) in features or not 1 <= int(feature) <= 99_999
                if known or not NUMBER.fullmatch(value) or np.isinf(float(value)):
                    return documents, number
                features[int(feature)] = float(single)
        except ValueError:
            return documents, number
        documents.append((int(grade), qid[4:].decode(), features))
    return documents, 0


def test_damaged_text_is_read_or_refused_as_by_a_plain_reader(tmp_path: Path) -> None:
    """Bytes changed at random: the same documents as the twin's, or the same first bad line."""
    rng = random.Random(11)
    good = b"".join(
        b"%d qid:%d 1:%d 3:0.%d 2:-%de%d # docid = x%d\r\n" % (i % 5, i // 3, i, i * i, i, i % 30, i) for i in range(12)
    )
    refusals = 0
    for _ in range(250):
        text = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(len(text))] = rng.choice(b"0123456789019.:eE+-# \t\r\nqidx")
        documents, bad = twin(bytes(text))
        if bad:
            refusals += 1
            assert refused(tmp_path, bytes(text)).startswith(f"line {bad}: "), bytes(text)
            continue
        found = parsed(tmp_path, bytes(text))
        qids = [qid for _, qid, _ in documents]
        order = sorted(documents, key=lambda document: qids.index(document[1]))
        assert found.grades.tolist() == [grade for grade, _, _ in order]
        assert [found.qids[q] for q in np.repeat(range(found.n_queries), np.diff(found.offsets))] == [
            d[1] for d in order
        ]
        expected = np.zeros(found.features.shape)
        for row, (_, _, features) in enumerate(order):
            for feature, value in features.items():
                expected[row, feature - 1] = value
        np.testing.assert_array_equal(found.features, expected)
    assert 50 < refusals < 225


@pytest.mark.skipif(not SHARED.is_dir(), reason="the data sets are not beside the repository")
@pytest.mark.parametrize("name", ["MQ2008/Fold1/vali.txt", "MSLR-sample/Fold1/vali.txt", "ClueWeb09/Fold3_test.txt"])
def test_real_files_read_as_sklearn_reads_them(name: str) -> None:
    """The same bits, grades and query ids as sklearn.datasets.load_svmlight_file."""
    datasets = pytest.importorskip("sklearn.datasets")
    features, grades, qids = datasets.load_svmlight_file(str(SHARED / name), query_id=True)
    found = parse_file(SHARED / name)
    expected = features.toarray().astype(np.float32)
    np.testing.assert_array_equal(found.features.view(np.int32), expected.view(np.int32))
    np.testing.assert_array_equal(found.grades, grades)
    assert list(np.repeat(found.qids, np.diff(found.offsets))) == [str(qid) for qid in qids]
