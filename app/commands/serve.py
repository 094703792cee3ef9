"""`foltr-search serve`: the resident process, which answers commands at once and keeps the index up to date."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from importlib import import_module

import click

from app.commands.command import FAILED, NOTHING_FOUND, Command, Context, exchange, load, say, stop_on_interrupt

EXAMPLES = """
foltr-search serve                     answer and watch, until Ctrl-C
foltr-search serve --no-watch --idle   answer only, exit after resident.idle_minutes without a query
foltr-search serve --stop              stop it
"""

AGAIN = 75
"""exit code: another version of the program works here, so start the new one (EX_TEMPFAIL; systemd then does)"""
FIRST_DESCRIPTOR = 3
"""where systemd puts the sockets that it opened"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--stop", "end", is_flag=True, help="Stop the resident process of this data folder.")
@click.option("--no-watch", is_flag=True, help="Only answer; do not watch or index.")
@click.option("--idle", is_flag=True, help="Exit after resident.idle_minutes without a query.")
@click.option("--pause-on-battery", is_flag=True, help="Do not index while the computer runs on battery.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def command(end: bool, no_watch: bool, idle: bool, pause_on_battery: bool, quiet: bool) -> int:
    """Stay running, so that commands answer at once, and keep the index up to date.

    It runs until you stop it. `search`, `open`, `why` and shell completion find and use it, over a socket that only you
    can use. A second process watches and indexes your files at the lowest priority, as `watch` does.
    """
    from app.resident.local_socket import AVAILABLE

    context = load()
    if not AVAILABLE:
        say("this system has no Unix sockets, so there is no resident process; every command works alone")
        return FAILED
    if end:
        return _stop(context)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one question at a time, of small arrays
    return _serve(
        context, idle=idle, quiet=quiet,
        watch=None if no_watch else ("--pause-on-battery",) if pause_on_battery else (),
    )  # fmt: skip


def _serve(context: Context, *, idle: bool, quiet: bool, watch: tuple[str, ...] | None) -> int:
    from app.chosen_folders import chosen_to_index
    from app.data_folder import create_data_folder
    from app.following.background import BackgroundIndexer
    from app.following.progress_lines import ProgressWriter
    from app.resident.resident_server import ResidentServer
    from indexer.storage.index import Index

    create_data_folder(context.paths)
    with stop_on_interrupt() as stop, ProgressWriter(quiet=quiet) as line, ExitStack() as ending:
        indexer = BackgroundIndexer(context.paths, line.show, arguments=watch or ())
        ending.callback(indexer.stop)

        def follow() -> None:
            if watch is not None and chosen_to_index(context.settings, context.paths):
                indexer.start()

        def ready() -> None:
            if not quiet:
                say(f"answering (process {os.getpid()}); Ctrl-C or `foltr-search serve --stop` stops it")
            follow()

        def look() -> None:
            server.superseded |= bool(Index.of_another_version(context.paths.index))
            follow()

        server = ResidentServer(
            context.paths.data_dir, stop,
            idle_seconds=context.settings.resident.idle_minutes * 60 if idle else 0.0,
            inherited=_inherited(), prepare=partial(_warm, context), ready=ready, look=look,
        )  # fmt: skip
        server.run()
    return AGAIN if server.superseded and not stop.is_set() else 0


def _warm(context: Context) -> None:
    """Load what commands load, open the index and look something up, before anybody waits for it."""
    from app.cli import COMMANDS
    from app.resident.on_behalf import search_for_command
    from app.resident.resident_client import COMMANDS as ANSWERED
    from app.search.results import SearchRequest

    for name in sorted(ANSWERED):
        import_module(COMMANDS[name])
    exchange(context)
    with search_for_command(context.settings, context.paths) as search:
        page = search.search(SearchRequest(text="a"))
        for hit in page.hits[:1]:
            search.snippet(page, hit)


def _inherited() -> int:
    """The listening socket that systemd opened for this process (sd_listen_fds), -1 where there is none."""
    mine = os.environ.pop("LISTEN_PID", "") == str(os.getpid())
    return FIRST_DESCRIPTOR if os.environ.pop("LISTEN_FDS", "") == "1" and mine else -1


def _stop(context: Context) -> int:
    from app.resident import protocol
    from app.resident.local_socket import LineError, socket_path
    from app.resident.resident_client import ask

    try:
        answer = ask(socket_path(str(context.paths.data_dir)), protocol.question(protocol.STOP))
    except (LineError, OSError) as error:
        say(f"nothing was stopped: {error}")
        return NOTHING_FOUND
    for kind, content in protocol.parts(answer):
        if kind == protocol.OUT:
            say(f"stopping {content.decode().strip()}")
    return 0
