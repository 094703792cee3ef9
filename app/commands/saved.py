"""`foltr-search saved`: searches that have a name, to be used as @name."""

from __future__ import annotations

import click

from app.commands.command import FOUND, NOTHING_FOUND, Group, load, printed_path, say
from app.commands.completion import saved_names
from console.printable import safe_line

EXAMPLES = """
foltr-search saved                                list them
foltr-search saved add tax 'type:pdf (tax OR vat)'   then: foltr-search search @tax 2024
foltr-search saved remove tax
"""


@click.group(cls=Group, examples=EXAMPLES, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int:
    """List, add and remove saved searches: @NAME in a query stands for the saved text.

    They are lines of searches.toml beside config.toml, which you can edit. They work on the screen, too.
    """
    if ctx.invoked_subcommand:
        return 0
    from app.search.saved import SavedSearches

    searches = SavedSearches(load().paths.saved).all()
    for name, text in searches.items():
        click.echo(f"@{name}\t{printed_path(text)}")
    if not searches:
        say("no saved searches; add one with foltr-search saved add NAME QUERY")
    return FOUND if searches else NOTHING_FOUND


@command.command(
    "add", examples="foltr-search saved add notes 'dir:~/notes type:markdown'",
    context_settings={"ignore_unknown_options": True},
)  # fmt: skip
@click.argument("name")
@click.argument("query", nargs=-1, required=True)
def add(name: str, query: tuple[str, ...]) -> int:
    """Save QUERY as @NAME, replacing any saved search of that name."""
    from app.search.saved import SavedSearches

    saved, bare, text = SavedSearches(load().paths.saved), name.removeprefix("@"), " ".join(query)
    before = saved.all().get(bare, text)
    saved.save(name, text)
    say(f"saved as @{bare}" + (f", in place of: {safe_line(before)}" if before != text else ""))
    return 0


@command.command("remove", examples="foltr-search saved remove notes")
@click.argument("name", shell_complete=saved_names)
def remove(name: str) -> int:
    """Remove the saved search @NAME."""
    from app.search.saved import SavedSearches

    SavedSearches(load().paths.saved).remove(name)
    return 0
