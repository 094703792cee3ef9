"""What the commands of the federation share: a server that is not there is an exit code of its own."""

from __future__ import annotations

from collections.abc import Callable

from app.commands.command import say

UNREACHABLE = 3
"""the server did not answer, or is busy: trying again later may help"""


def answered(work: Callable[[], int]) -> int:
    """The work's exit code; UNREACHABLE with one line on stderr when there was no answer."""
    from app.federation.failures import Unreachable

    try:
        return work()
    except Unreachable as error:
        say(f"no answer from {error}; nothing is lost, try again later")
        return UNREACHABLE
