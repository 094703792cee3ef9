"""`foltr-search history`: the past queries, for those who keep them."""

from __future__ import annotations

import click

from app.commands.command import FOUND, NOTHING_FOUND, Group, load, print_line, printed_path, say
from console.wording import iso_minute

EXAMPLES = """
foltr-search history                     newest first
foltr-search history --limit 5
foltr-search history clear
foltr-search config edit                 set history.enabled = true to keep them
"""


@click.group(cls=Group, examples=EXAMPLES, invoke_without_command=True)
@click.option("--limit", type=click.IntRange(min=1), default=100, metavar="N", help="At most N queries; default 100.")
@click.pass_context
def command(ctx: click.Context, limit: int) -> int:
    """Print past queries, newest first.

    Queries are kept only if history.enabled is set, and stay on this device.
    """
    if ctx.invoked_subcommand:
        return 0

    from app.store import PastQuery, SearchHistory, Store

    context = load()
    past: tuple[PastQuery, ...] = ()
    if context.paths.state.exists():
        with Store(context.paths.state, writable=False) as store:
            past = SearchHistory(store, context.settings.history).list(limit=limit)
    for entry in past:
        print_line(f"{iso_minute(entry.time)}\t{printed_path(entry.query)}")
    if not past and not context.settings.history.enabled:
        say("past queries are not kept; to keep them, set history.enabled = true in config.toml")
    return FOUND if past else NOTHING_FOUND


@command.command("clear", examples="foltr-search history clear")
def clear() -> int:
    """Delete all past queries."""
    from app.store import SearchHistory, Store

    context = load()
    if context.paths.state.exists():
        with Store(context.paths.state) as store:
            SearchHistory(store, context.settings.history).clear()
    say("deleted all past queries")
    return 0
