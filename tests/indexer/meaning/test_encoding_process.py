"""The process that encodes: what it may do, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from indexer.confined.confinement import available, rights_left
from indexer.meaning.encoder import EncodingFailed, NoEncoder, load
from indexer.meaning.encoding_process import EncodingProcess
from indexer.postings import Vectors
from tests.tiny_encoder import write_encoder
from tests.waiting import until

pytest.importorskip("onnxruntime")
ROOT = Path(__file__).resolve().parents[3]


class Taken:
    """What an encoder could do that a text took over."""

    def __init__(self, encode: Callable[[Sequence[str]], Vectors]) -> None:
        self.encode = encode


def one_that_tries() -> Taken:
    """Its numbers: how many of the rights are left, and whether the file that the text names can be read."""
    return Taken(_tried)


def _tried(texts: Sequence[str]) -> Vectors:
    try:
        is_read = bool(Path(texts[0]).read_bytes())
    except OSError:
        is_read = False
    return np.array([[len(rights_left("/", None)), is_read]], dtype=np.float32)


def one_that_dies() -> Taken:
    return Taken(lambda texts: os._exit(3))


def encoded(load_it: Callable[[], object], texts: list[str]) -> Vectors:
    process = EncodingProcess(load_it)  # type: ignore[arg-type]
    try:
        return process.encode(texts)
    finally:
        process.close()


def test_it_gives_the_vectors_of_the_encoder(tmp_path: Path) -> None:
    folder = str(write_encoder(tmp_path))
    texts = ["car", "heron tax", "car heron"]
    np.testing.assert_array_equal(encoded(partial(load, folder), texts), load(folder).encode(texts))


@pytest.mark.skipif(not available(), reason="this system confines no process")
def test_a_text_that_takes_it_over_has_nothing(tmp_path: Path) -> None:
    """Neither folders nor writing, sockets, programs or signals, nor a file of the user's."""
    (tmp_path / "secret").write_text("a secret")
    assert encoded(one_that_tries, [str(tmp_path / "secret")]).tolist() == [[0, 0]]


def test_why_there_is_no_encoder_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoEncoder, match=r"wanted a folder with model\.onnx"):
        EncodingProcess(partial(load, str(tmp_path)))


def test_a_text_that_ends_it_is_named_as_that() -> None:
    with pytest.raises(EncodingFailed, match="exit code 3"):
        encoded(one_that_dies, ["a text"])


def one_that_raves() -> Taken:
    return Taken(lambda texts: np.full((len(texts), 3), np.nan, dtype=np.float32))


def test_what_is_no_vector_is_refused() -> None:
    """Not a number, or too few: a process that was taken over may answer anything."""
    with pytest.raises(EncodingFailed, match="24 bytes for 2 texts, which are no vectors"):
        encoded(one_that_raves, ["a text", "another"])


PARENT = """
import sys
from functools import partial
from indexer.meaning.encoder import load
from indexer.meaning.encoding_process import EncodingProcess

one = EncodingProcess(partial(load, sys.argv[1]))
print(one._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what runs is seen in /proc")
def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    """However that goes: here by kill -9."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(write_encoder(tmp_path))],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert parent.stdout is not None
    place = Path("/proc", parent.stdout.readline().strip())
    assert place.exists()
    parent.kill()
    parent.communicate()
    until(lambda: not place.exists())
