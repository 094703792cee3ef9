"""Ways to give an extractor bytes, and to build the containers it reads."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.kinds import extract_source
from indexer.extract.source import Limits, Source

Extract = Callable[..., Extraction]


@pytest.fixture
def extract() -> Extract:
    """`extract(name, data, **limits)`: what the registry reads from `data` under that name."""

    def run(name: str, data: bytes | str, **limits: int) -> Extraction:
        content = data.encode() if isinstance(data, str) else data
        return extract_source(Source(name=name, data=content), Limits(**limits))

    return run


@pytest.fixture
def single(extract: Extract) -> Callable[..., ExtractedDocument]:
    """Like `extract`, for what gives exactly one document and no note."""

    def run(name: str, data: bytes | str, **limits: int) -> ExtractedDocument:
        found = extract(name, data, **limits)
        assert len(found.documents) == 1
        assert found.notes == ()
        return found.documents[0]

    return run


@pytest.fixture
def zipped() -> Callable[[dict[str, bytes | str]], bytes]:
    """`zipped({name: content})`: a ZIP file as bytes."""

    def build(members: dict[str, bytes | str]) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return stream.getvalue()

    return build


@pytest.fixture(scope="session")
def shared_files() -> Path:
    """The folder of odd documents, which is kept outside the repository."""
    root = os.environ.get("FOLTR_SHARED")
    folder = (Path(root) if root else Path(__file__).resolve().parents[4] / "shared") / "data" / "files"
    if not folder.is_dir():
        pytest.skip(f"needs the test documents in {folder}")
    return folder


@pytest.fixture(scope="session")
def legacy_office(shared_files: Path) -> Path:
    """The folder of old Office files, beside that of odd documents."""
    folder = shared_files.parent / "legacy-office"
    if not folder.is_dir():
        pytest.skip(f"needs the old Office files in {folder}")
    return folder
