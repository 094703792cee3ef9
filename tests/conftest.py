"""What every test gives back as it found it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def same_umask() -> Iterator[None]:
    """The program's entry point tightens the process's umask; the next test starts with the former one."""
    former = os.umask(0o022)
    os.umask(former)
    yield
    os.umask(former)
