"""`foltr-search watch`: follow changes and keep the index up to date until interrupted."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import click

from app.commands.command import FAILED, INTERRUPTED, Command, load, print_line, say, setting_option, stop_on_interrupt

if TYPE_CHECKING:
    from indexer.progress import Progress

EXAMPLES = """
foltr-search watch
foltr-search watch --pause-on-battery      as in a systemd unit (docs/configuration.md)
foltr-search watch --events | jq .phase
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--events", is_flag=True, help="Print progress as lines of JSON on stdout.")
@click.option("--pause-on-battery", is_flag=True, help="Pause while the computer runs on battery.")
@click.option("--retry-failures", is_flag=True, help="First try again to read the files that could not be read.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@setting_option("--workers", key="index.workers", type=int, metavar="N", help="Number of processes that read files.")
def command(events: bool, pause_on_battery: bool, retry_failures: bool, quiet: bool) -> int:
    """Keep the index of all your folders up to date, at the lowest priority, until Ctrl-C.

    If the system cannot report changes, folders are scanned every index.scan_minutes.
    """
    import msgspec

    from app.chosen_folders import chosen_to_index
    from app.following.background import stop_with_parent
    from app.following.following import follow_changes
    from app.following.indexing import update_index
    from app.following.progress_lines import ProgressWriter

    def print_event(progress: Progress) -> None:
        print_line(msgspec.json.encode(progress).decode("utf-8"))

    context = load()
    if not chosen_to_index(context.settings, context.paths):
        say("no folders to watch yet; name some: foltr-search index ~/Documents")
        return FAILED
    with stop_on_interrupt() as stop, ProgressWriter(quiet=quiet or events) as line:
        if events and stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):  # who holds the other end, as the screen
            stop_with_parent(stop, sys.stdin.fileno())
        report = print_event if events else line.show
        if retry_failures:
            holder = "foltr-search watch"
            update_index(
                context.settings, context.paths, retry_failures=True, holder=holder, on_progress=report, stop=stop
            )
        follow_changes(
            context.settings, context.paths, on_progress=report, stop=stop, pause_on_battery=pause_on_battery
        )
    return INTERRUPTED
