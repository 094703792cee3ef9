"""ZIP, TAR and packed files: members as documents, every bound, every damage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from indexer.confined.programs import installed
from indexer.errors import ExtractionError
from indexer.extract.archives import _zstd
from indexer.extract.kinds import extract_file
from indexer.extract.source import Limits


def tar(members: dict[str, bytes], mode: str = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def parts(found) -> dict[str, str]:
    return {document.part: document.text for document in found.documents}


def test_members_are_documents_of_their_own_kind(extract, zipped) -> None:
    """Each member that is indexed is a document named by its path; the archive itself is found by the names."""
    found = extract(
        "a.zip", zipped({"in/zebra.txt": "zebrazip", "b.html": "<title>T</title>x", "c.png": b"\x89PNG", ".hid": "no"})
    )
    assert [(one.part, one.type, one.title) for one in found.documents] == [
        ("", "archive", ""),
        ("in/zebra.txt", "text", ""),
        ("b.html", "html", "T"),
    ]
    assert found.documents[0].text == "in/zebra.txt\nb.html\nc.png\n.hid"
    assert found.notes == ()


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tbz2", "w:bz2"), ("a.txz", "w:xz")]
)
def test_tar_archives_of_every_packing(extract, name: str, mode: str) -> None:
    """TAR is read packed or not."""
    found = extract(name, tar({"d/one.txt": b"zebra one", "two.md": b"# Two"}, mode))
    assert parts(found) == {"": "d/one.txt\ntwo.md", "d/one.txt": "zebra one", "two.md": "# Two"}


PACKINGS = (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", _zstd().compress))


def test_tar_packed_by_zstandard(extract) -> None:
    """Under both of its endings; cut off it gives what comes before the cut."""
    data = _zstd().compress(tar({"d/one.txt": b"zebra one", "two.md": b"# Two" + os.urandom(300_000)}))
    for name in ("a.tar.zst", "a.tzst"):
        assert parts(extract(name, data))["d/one.txt"] == "zebra one"
    cut = extract("a.tar.zst", data[: len(data) // 2])
    assert parts(cut)["d/one.txt"] == "zebra one"
    assert "damaged" in cut.notes[0]


needs_bsdtar = pytest.mark.skipif(not installed("bsdtar"), reason="bsdtar is not installed")


@needs_bsdtar
def test_an_archive_of_another_program_is_read_as_a_tar_is(extract, tmp_path: Path) -> None:
    """7z: members by name, from a file and from inside another archive; bounded; damaged, it fails or says so."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "zebra.txt").write_text("striped")
    (tmp_path / "in" / "noise.txt").write_bytes(os.urandom(30_000).hex().encode())
    command = ["bsdtar", "-c", "-f", "a.7z", "--format=7zip", "in/zebra.txt", "in/noise.txt"]
    subprocess.run(command, cwd=tmp_path, check=True)
    data = (tmp_path / "a.7z").read_bytes()
    found = extract("a.7z", data)
    assert found.documents[0].text == "in/zebra.txt\nin/noise.txt"
    assert parts(found)["in/zebra.txt"] == "striped"
    assert extract_file(str(tmp_path / "a.7z"), Limits()) == found
    bounded = extract("a.7z", data, max_archive_bytes=1_000)
    assert bounded.notes == ("only the first 1 kB unpacked are read",)
    for damaged in (data[:-40], data[:100], data[:6], data[:40] + bytes(20) + data[60:]):
        with pytest.raises(ExtractionError, match="the archive is damaged"):
            extract("a.7z", damaged)


@needs_bsdtar
@pytest.mark.parametrize("name", ["a.rar", "a.7z"])
def test_no_other_archive_is_handed_to_the_program(extract, tmp_path: Path, name: str) -> None:
    """A list in mtree's form, which names files to be read: none of them is."""
    (tmp_path / "secret").write_text("not to be indexed")
    with pytest.raises(ExtractionError, match="neither a 7z nor a RAR archive") as told:
        extract(name, f"#mtree\n./a.txt type=file contents={tmp_path}/secret\n")
    assert told.value.kind == "malformed"


def test_an_archive_whose_program_is_missing_is_named(extract, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found by its name then: nothing has failed."""
    monkeypatch.setenv("PATH", "")
    installed.cache_clear()
    try:
        with pytest.raises(ExtractionError, match="read by bsdtar, which is not installed") as told:
            extract("a.rar", b"Rar!\x1a\x07\x01\0")
    finally:
        installed.cache_clear()
    assert told.value.kind == "unsupported"


@pytest.mark.parametrize(("end", "pack"), PACKINGS)
def test_a_packed_file_is_read_under_its_inner_name(extract, zipped, end: str, pack) -> None:
    """notes.md.gz is a Markdown document, a packed office file is one, a TAR under a plain name is one."""
    [document] = extract(f"notes.md.{end}", pack(b"# Title\n")).documents
    assert (document.type, document.title, document.part) == ("markdown", "Title", "")
    assert "b.txt" in parts(extract(f"a.zip.{end}", pack(zipped({"b.txt": "x"}))))
    assert parts(extract(f"backup.{end}", pack(tar({"x.txt": b"inside"}))))["x.txt"] == "inside"


def test_a_packed_log_is_unpacked_only_as_far_as_it_is_read(extract) -> None:
    """Of a packed text the beginning is enough, however much there is."""
    [document] = extract("big.log.gz", gzip.compress(b"line of a log\n" * 1_000_000), max_text_bytes=10_000).documents
    assert (len(document.text), document.truncated) == (10_000, "first 10 kB")


def test_bombs_are_refused(extract, zipped) -> None:
    """A member beyond its limit is a note, a packed file beyond it a failure, a sum beyond it ends the reading."""
    found = extract("a.zip", zipped({"big.html": bytes(3_000), "ok.txt": "x"}), max_member_bytes=2_000)
    assert "ok.txt" in parts(found)
    assert "big.html" in found.notes[0]
    found = extract("a.tar", tar({"big.txt": bytes(3_000), "ok.txt": b"x"}), max_member_bytes=2_000)
    assert "ok.txt" in parts(found)
    assert "big.txt" in found.notes[0]
    with pytest.raises(ExtractionError) as failure:
        extract("a.html.gz", gzip.compress(bytes(5_000)), max_member_bytes=2_000)
    assert failure.value.kind == "too-large"
    many: dict[str, bytes | str] = {f"{i}.txt": "x" * 1_000 for i in range(50)}
    for name, data in (("a.zip", zipped(many)), ("a.tar", tar({n: str(t).encode() for n, t in many.items()}))):
        found = extract(name, data, max_archive_bytes=10_000)
        assert len(found.documents) == 1 + 10
        assert "first 10 kB" in found.notes[0]
        found = extract(name, data, max_archive_members=7)
        assert len(found.documents) == 1 + 7
        assert "first 7 files" in found.notes[0]


def test_depth_is_bounded(extract, zipped) -> None:
    """An archive in an archive is read, one deeper still becomes a note."""
    inner = zipped({"deep.txt": "zebra deep"})
    found = extract("a.zip", zipped({"b.zip": inner}))
    assert parts(found)["b.zip/deep.txt"] == "zebra deep"
    found = extract("a.zip", zipped({"b.zip": zipped({"c.zip": inner})}))
    assert "b.zip/c.zip/deep.txt" not in parts(found)
    assert "more than 2 times" in found.notes[0]


def test_hostile_names_are_only_names(extract, zipped) -> None:
    """Names that climb, are absolute or hold control characters name a part and nothing else."""
    found = extract("a.zip", zipped({"../../etc/pass.txt": "x", "/abs.txt": "y", "a\x1b[31m\n.txt": "z"}))
    assert set(parts(found)) == {"", "../../etc/pass.txt", "abs.txt", "a .txt"}


def test_links_and_devices_in_a_tar_are_passed_over(extract) -> None:
    """Only regular members are read."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo(f"l{kind.decode()}.txt")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert set(parts(extract("a.tar", stream.getvalue()))) == {""}


def test_cut_off_archives(extract, zipped) -> None:
    """A cut TAR gives what comes before the cut with a note, a cut ZIP or packed file is malformed."""
    whole = tar({"one.txt": b"first", "two.txt": b"x" * 5_000})
    found = extract("a.tar", whole[:3_000])
    assert parts(found)["one.txt"] == "first"
    assert found.notes
    for name, data in (("a.zip", zipped({"a.txt": "x" * 500})[:-30]), ("a.txt.gz", gzip.compress(b"x" * 500)[:-12])):
        with pytest.raises(ExtractionError) as failure:
            extract(name, data)
        assert failure.value.kind == "malformed"


def test_a_protected_member_is_a_note(extract, zipped) -> None:
    """A member that needs a password does not keep the others out."""
    data = bytearray(zipped({"secret.txt": "x", "open.txt": "y"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    found = extract("a.zip", bytes(data))
    assert "open.txt" in parts(found)
    assert "password" in found.notes[0]


def test_what_is_not_read_of_an_apple_document_is_said(extract, zipped) -> None:
    """It is found by its name; a ZIP file is no document of Apple's."""
    assert "export it as PDF" in extract("Plan.pages", zipped({"Index/Document.iwa": "x", "preview.jpg": "x"})).notes[0]
    assert extract("a.zip", zipped({"a.txt": "heron"})).notes == ()


@pytest.mark.parametrize("encoding", ["utf-8", "cp437"])
def test_names_in_a_zip_that_does_not_say_how_they_are_written(extract, encoding: str) -> None:
    """In UTF-8 as programs of Unix write them, else in the letters of DOS."""
    name = "Füße.txt".encode(encoding)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x" * len(name), "heron")
    found = extract("a.zip", stream.getvalue().replace(b"x" * len(name), name))
    assert found.documents[0].text == "Füße.txt"
    assert (found.documents[1].part, found.documents[1].text) == ("Füße.txt", "heron")


def test_a_tar_without_its_end_is_told_to_be_cut_off(extract) -> None:
    """Cut between two files, or damaged there: its end has a mark, which tarfile does not ask for."""
    whole = tar({f"{n}.txt": b"zebra" for n in range(4)})
    assert extract("a.tar", whole).notes == ()
    for cut in (whole[:2048], whole[:2048] + b"x" * 512 + whole[2560:]):
        assert extract("a.tar", cut).notes == ("the archive ends without its mark: it may be cut off after 1.txt",)
