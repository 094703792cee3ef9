"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 300.0
"""seconds after which something hangs; a machine that is busy with other things takes long and gets there"""


def until(condition: Callable[[], object], said: Callable[[], object] = lambda: "") -> None:
    """Wait until `condition` holds; AssertionError with what is said last when it never does.

    A look that takes long, as by a command, comes seldom, and so do looks after a long wait: what is waited for needs
    the processor, too.
    """
    began = looked = time.monotonic()
    while not condition():
        now = time.monotonic()
        assert now < began + PATIENCE, f"waited in vain: {said()}"
        time.sleep(min(max(0.01, 3 * (now - looked), (now - began) / 20), 1.0))
        looked = time.monotonic()
