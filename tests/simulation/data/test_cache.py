"""The cache gives what the parser gives, at once, and never an error of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from simulation.data import cache as letor_cache
from simulation.data.cache import load_file
from simulation.data.letor import parse_file
from simulation.data.queries import QuerySet
from simulation.errors import DataFileError, DatasetError

TEXT = "2 qid:1 1:0.5 3:7 # docid = ä-1\n0 qid:1 2:1\n1 qid:zwei 1:-3 #docid = B\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "data.txt"
    write(path, TEXT)
    return path


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The paths that were parsed."""
    seen: list[Path] = []

    def counting(path: Path, *, queries: Collection[str] = ()) -> QuerySet:
        seen.append(path)
        return parse_file(path, queries=queries)

    monkeypatch.setattr(letor_cache, "parse_file", counting)
    return seen


def write(path: Path, text: str, *, hour: int = 1) -> None:
    """A file that was last changed long ago."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, (3600 * hour, 3600 * hour))


def same(one: QuerySet, other: QuerySet) -> bool:
    arrays = ("features", "grades", "offsets")
    equal = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
    return equal and (one.qids, one.docids) == (other.qids, other.docids)


def test_the_second_load_parses_nothing_and_gives_the_same(source: Path, tmp_path: Path, parses: list[Path]) -> None:
    """Parsed once; then mapped, read-only, equal in every part."""
    plain = parse_file(source)
    for _ in range(3):
        found = load_file(source, cache=tmp_path / "cache")
        assert same(found, plain)
        assert not found.features.flags.writeable
    assert parses == [source]


def test_an_untouched_source_is_not_read_again(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hash is remembered by size, time and inode."""
    load_file(source, cache=tmp_path / "cache")
    monkeypatch.setattr(letor_cache, "content_hash", lambda path: pytest.fail("the source was read"))
    assert load_file(source, cache=tmp_path / "cache").qids == ("1", "zwei")


def test_a_source_that_changed_is_parsed(source: Path, tmp_path: Path, parses: list[Path]) -> None:
    """Other bytes of the same length at another time are what is loaded; a copy under another name is not parsed."""
    cache = tmp_path / "cache"
    load_file(source, cache=cache)
    shutil.copy(source, tmp_path / "copy.txt")
    assert load_file(tmp_path / "copy.txt", cache=cache).features[0, 0] == np.float32(0.5)
    assert len(parses) == 1
    write(source, TEXT.replace("0.5", "0.6"), hour=2)
    assert load_file(source, cache=cache).features[0, 0] == np.float32(0.6)
    assert len(parses) == 2


def test_a_source_changed_just_now_is_hashed_again(tmp_path: Path) -> None:
    """Two writes within the clock's grain, of one size, are told apart."""
    source = tmp_path / "data.txt"
    for value in ("1", "2", "3"):
        source.write_text(f"0 qid:1 1:{value}\n")
        assert load_file(source, cache=tmp_path / "cache").features[0, 0] == float(value)


@pytest.mark.parametrize("place", ["header", "words", "features", "short", "long", "empty"])
def test_a_damaged_binary_is_made_anew(source: Path, tmp_path: Path, parses: list[Path], place: str) -> None:
    """Any byte that differs, a missing or additional end: parsed again without a word, and then kept again."""
    cache = tmp_path / "cache"
    plain = load_file(source, cache=cache)
    (binary,) = cache.glob("*.v*")
    content = bytearray(binary.read_bytes())
    at = {"header": 20, "words": len(content) - 3, "features": content.index(np.float32(7).tobytes())}
    if place in at:
        content[at[place]] ^= 1
    damaged = {"short": content[:-1], "long": content + b"x", "empty": b""}.get(place, content)
    binary.unlink()
    binary.write_bytes(damaged)
    os.utime(binary, (1, 1))
    for _ in range(2):
        assert same(load_file(source, cache=cache), parse_file(source))
    assert len(parses) == 2
    assert plain.n_queries == 2


def test_damaged_notes_do_no_harm(source: Path, tmp_path: Path, parses: list[Path]) -> None:
    """What is remembered of a source may be nonsense: the source is hashed again."""
    cache = tmp_path / "cache"
    load_file(source, cache=cache)
    (note,) = cache.glob("*.json")
    for nonsense in (b"", b"{", b'{"path": 3}', b"\xff"):
        note.write_bytes(nonsense)
        assert load_file(source, cache=cache).n_queries == 2
    assert len(parses) == 1


def test_a_folder_that_refuses_is_done_without(source: Path, tmp_path: Path) -> None:
    """Where no folder can be made, files load as without a cache."""
    (tmp_path / "file").write_text("in the way")
    assert same(load_file(source, cache=tmp_path / "file" / "cache"), parse_file(source))


def test_the_folder_comes_from_the_environment(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FOLTR_CACHE names it; "off" writes nothing; another word is refused."""
    monkeypatch.setenv("FOLTR_CACHE", str(tmp_path / "named"))
    load_file(source, cache="off")
    assert not (tmp_path / "named").exists()
    load_file(source)
    assert len(list((tmp_path / "named" / "letor").glob("*.v*"))) == 1
    with pytest.raises(DatasetError, match="'default' or 'off', not 'on'"):
        load_file(source, cache="on")  # type: ignore[arg-type]


def test_no_half_written_file_stays(source: Path, tmp_path: Path) -> None:
    """The cache holds the binary and the note, no temporary file."""
    load_file(source, cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    """The error names the path, cached or not."""
    for cache in (tmp_path / "cache", "off"):
        with pytest.raises(DataFileError, match=r"absent\.txt: cannot be read"):
            load_file(tmp_path / "absent.txt", cache=cache)  # type: ignore[arg-type]


def test_scaled_and_widened_features_are_kept_too(source: Path, tmp_path: Path, parses: list[Path]) -> None:
    """Each way of scaling and each width has a binary of its own, equal to what is computed without a cache."""
    cache = tmp_path / "cache"
    ways: tuple[tuple[str, int], ...] = (("none", 0), ("min-max", 0), ("log-min-max", 0), ("min-max", 5))
    for _ in range(2):
        for how, width in ways:
            kept = load_file(source, normalise=how, n_features=width, cache=cache)
            plain = load_file(source, normalise=how, n_features=width, cache="off")
            np.testing.assert_array_equal(kept.features, plain.features)
            assert kept.n_features == max(width, 3)
            assert not kept.features.flags.writeable
    assert len(parses) == len(ways) + 2 * len(ways)
    with pytest.raises(DatasetError, match="normalisation must be one of"):
        load_file(source, normalise="max", cache=cache)
