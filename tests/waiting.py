"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 300.0
"""seconds after which something hangs; a machine that is busy with other things takes long and gets there"""


def until(condition: Callable[[], object], said: Callable[[], object] = lambda: "") -> None:
    """Wait until `condition` holds; AssertionError with what is said last when it never does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {said()}"
        time.sleep(0.01)
