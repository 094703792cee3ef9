"""Fingerprints of files: equal for equal content, of a large file by its two ends."""

from __future__ import annotations

import os
from pathlib import Path

from indexer.files.fingerprint import HEAD_BYTES, fingerprint


def test_one_byte_makes_another_fingerprint(tmp_path: Path) -> None:
    """Content counts, name and time do not."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"zebra")
    two.write_bytes(b"zebra")
    os.utime(two, (1, 1))
    assert fingerprint(str(one)) == fingerprint(str(two)) != b""
    two.write_bytes(b"zebrA")
    assert fingerprint(str(one)) != fingerprint(str(two))


def test_a_large_file_counts_by_its_beginning_end_and_size(tmp_path: Path) -> None:
    """A change in the first 32 MB or the last one is seen, and a byte more."""
    path = tmp_path / "large"
    path.touch()
    found = set()
    for size, at in [
        (HEAD_BYTES + 5_000_000, 0),
        (HEAD_BYTES + 5_000_000, HEAD_BYTES + 4_500_000),
        (HEAD_BYTES + 1, 0),
    ]:
        with path.open("wb") as stream:
            stream.truncate(size)
            stream.seek(at)
            stream.write(b"x")
        found.add(fingerprint(str(path)))
    assert len(found) == 3


def test_what_cannot_be_read_has_none(tmp_path: Path) -> None:
    """A missing file and a folder give nothing."""
    assert fingerprint(str(tmp_path / "none")) == fingerprint(str(tmp_path)) == b""
