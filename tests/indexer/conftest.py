"""The worker processes that the tests of updating share: starting one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from indexer.extract import WorkerPool
from indexer.prepare import PreparedFile, prepare_file


@pytest.fixture(scope="session")
def pool() -> Iterator[WorkerPool[PreparedFile]]:
    """Real workers, with the limits that a test can wait for."""
    with WorkerPool(prepare_file, n_workers=1, seconds=30, memory_mb=1024) as workers:
        yield workers
