"""What every test gives back as it found it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# How long one example takes says more about what else the machine does than about the program.
settings.register_profile("foltr", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("foltr")


@pytest.fixture(autouse=True)
def same_umask() -> Iterator[None]:
    """The program's entry point tightens the process's umask; the next test starts with the former one."""
    former = os.umask(0o022)
    os.umask(former)
    yield
    os.umask(former)
