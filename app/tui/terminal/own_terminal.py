"""The screen on the terminal itself, whatever stdin, stdout and stderr are: `vim "$(foltr-search --pick)"`.

Textual draws on stderr, reads stdin and asks stdout for its size. While the block runs, all three descriptors are the
controlling terminal, so that an editor that the screen steps aside for has it, too; afterwards they are what they were.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TERMINAL = "/dev/tty"


class NoTerminal(Exception):
    """There is no terminal to draw on; the message says so."""


@contextmanager
def on_the_terminal() -> Iterator[None]:
    """Point stdin, stdout and stderr at the controlling terminal; raises NoTerminal where there is none."""
    if all(os.isatty(descriptor) for descriptor in (0, 1, 2)):
        yield
        return
    try:
        terminal = os.open(TERMINAL, os.O_RDWR)
    except OSError as error:
        raise NoTerminal(f"wanted a terminal to draw on, and there is none ({TERMINAL}: {error.strerror})") from error
    _flush()
    before = [os.dup(descriptor) for descriptor in (0, 1, 2)]
    try:
        for descriptor in (0, 1, 2):
            os.dup2(terminal, descriptor)
        yield
    finally:
        _flush()
        for descriptor, old in enumerate(before):
            os.dup2(old, descriptor)
            os.close(old)
        os.close(terminal)


def _flush() -> None:
    """What was written before goes where it was meant to go."""
    sys.stdout.flush()
    sys.stderr.flush()
