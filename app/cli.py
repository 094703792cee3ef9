"""The command line: `foltr-search [FOLDER]` opens the screen, each file in app/commands is a command, else it searches.

Exit codes: 0 found or done, 1 nothing found, 2 an error (one line on stderr; FOLTR_DEBUG=1 shows the traceback),
3 the group's server did not answer, 130 interrupted. stdout carries results only.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from app.commands.command import NAME, Group, error_line, say, without_codes
from console.command_line import CommandsByName, run

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

ASIDE = {"--pick": "app.commands.screen", "--plain": "app.commands.plain"}
"""Options that begin a command line of their own, and the module of its command."""

COMMANDS: Mapping[str, str] = {
    "index": "app.commands.index",
    "search": "app.commands.search",
    "open": "app.commands.open",
    "review": "app.commands.review",
    "watch": "app.commands.watch",
    "serve": "app.commands.serve",
    "mcp": "app.commands.mcp",
    "assistant": "app.commands.assistant",
    "why": "app.commands.why",
    "status": "app.commands.status",
    "model": "app.commands.model",
    "stats": "app.commands.stats",
    "history": "app.commands.history",
    "saved": "app.commands.saved",
    "devices": "app.commands.devices",
    "join": "app.commands.join:join",
    "invite": "app.commands.vouch:invite",
    "vouch": "app.commands.vouch:vouch",
    "sync": "app.commands.sync",
    "federation": "app.commands.federation",
    "privacy": "app.commands.privacy",
    "leave": "app.commands.join:leave",
    "forget-me": "app.commands.forget_me",
    "config": "app.commands.config",
    "doctor": "app.commands.doctor",
    "completion": "app.commands.completion",
    "man": "app.commands.man",
    "backup": "app.commands.backup:backup",
    "restore": "app.commands.backup:restore",
    "purge": "app.commands.purge",
}
"""Each command's module, whose `command` it is, or `MODULE:NAME`; imported only when it is asked for."""

EXAMPLES = """
foltr-search                          open the screen
foltr-search ~/Documents              open the screen on one folder
vim "$(foltr-search --pick)"          choose a file on the screen, for another program
foltr-search index ~/Documents        add a folder and index it
foltr-search search 'tax 2024 ext:pdf'
foltr-search open 1                   open the first result of the last search
foltr-search search --help            every command has help with examples
"""

LIKE = 0.82
"""similarity from which on one word may be a slip of another: serach and search, but not invoice and invite"""


class DeviceProgram(CommandsByName, Group):
    """The top command: its subcommands by name; any other first word is a folder for the screen, or searched for."""

    modules = COMMANDS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] == "--simulate":  # what follows is the laboratory's own command line
            ctx.meta["foltr.simulate"] = args[1:]
            args = []
        elif args and args[0].startswith("-") and (asked := next((one for one in args if one in ASIDE), "")):
            at = args.index(asked)  # its options may stand before and after it
            ctx.meta["foltr.aside"] = asked, [*args[:at], *args[at + 1 :]]
            args = []
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from app.paths import as_spelt

        is_folder = os.path.isdir(as_spelt(os.path.expanduser(name)))
        if os.sep in name and not is_folder:
            raise click.UsageError(f"there is no folder {name}", ctx)
        if is_folder:
            from app.commands.screen import on_folder

            return "screen", on_folder, args
        import difflib

        from app.commands.search import command as search

        if like := difflib.get_close_matches(name, COMMANDS, n=1, cutoff=LIKE):
            say(f"searching for `{name}`; if you meant the command, it is `{like[0]}`")
        return "search", search, args

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise click.UsageError(without_codes(error.format_message()), error.ctx) from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        folders = click.Path(file_okay=False).shell_complete(ctx, self.params[0], incomplete)
        return super().shell_complete(ctx, incomplete) + folders


def _show_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"{NAME} {version(NAME)}")
        except PackageNotFoundError:
            click.echo(f"{NAME} (run from its source folder, not installed)")
        ctx.exit()


@click.group(
    cls=DeviceProgram,
    examples=EXAMPLES,
    invoke_without_command=True,
    subcommand_metavar="[FOLDER | WORDS] | COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
@click.option(
    "--simulate", is_flag=True, expose_value=False, help="Run a study in the laboratory; see --simulate --help."
)
@click.option(
    "--pick", is_flag=True, expose_value=False, help="Choose files on the screen, print their paths; see --pick --help."
)
@click.option(
    "--plain", is_flag=True, expose_value=False, help="Search in plain lines of text, as for a screen reader."
)
@click.pass_context
def program(ctx: click.Context) -> int:
    """Search your own files from the terminal, ranked by what you open.

    Without a command this opens the screen, on FOLDER if given (write ./NAME for a folder named like a command). Any
    other WORDS are searched for.
    """
    if "foltr.simulate" in ctx.meta:
        laboratory = importlib.import_module("simulation.cli")  # it says itself when its extra is not installed
        return int(laboratory.main(ctx.meta["foltr.simulate"]))
    if "foltr.aside" in ctx.meta:
        name, arguments = ctx.meta["foltr.aside"]
        aside: click.Command = importlib.import_module(ASIDE[name]).command
        with aside.make_context(name, arguments, parent=ctx) as own:
            return int(aside.invoke(own))
    if ctx.invoked_subcommand is not None:
        return 0
    from app.commands.screen import open_screen

    return open_screen(ctx, folder=None)


def main(arguments: Sequence[str] | None = None) -> int:
    os.umask(0o077)  # whatever a command writes is for its owner only
    return run(program, arguments, program=NAME, describe=error_line)


if __name__ == "__main__":
    sys.exit(main())
