"""What is recognised in a file, by an engine that takes no time."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import ExtractionError
from indexer.extract.media.recognition import RecognitionOrder, recognise_file
from indexer.extract.source import Limits
from tests.tiny_recogniser import TinyRecogniser


@pytest.mark.parametrize(
    ("name", "kind", "why"),
    [
        ("damaged.png", "malformed", r"cannot be read by tiny \(UnicodeDecodeError\)"),
        ("missing.png", "unreadable", "it cannot be opened"),
    ],
)
def test_what_an_engine_cannot_read_is_the_failure_of_the_file(tmp_path: Path, name: str, kind: str, why: str) -> None:
    """Whatever the engine raises."""
    (tmp_path / "damaged.png").write_bytes(b"IEND\xaeB`\x82\xff")
    with pytest.raises(ExtractionError, match=why) as failure:
        recognise_file(str(tmp_path / name), Limits(), order=RecognitionOrder(TinyRecogniser(), 60.0, 1))
    assert failure.value.kind == kind
