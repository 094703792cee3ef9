"""The command line `foltr-server`: `COMMANDS` are in federation_server/commands.

Exit codes: 0 done, 1 nothing found, 2 an error (one line on stderr; FOLTR_DEBUG=1 shows the traceback), 130
interrupted. stdout carries results only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from console.command_line import FAILED, CommandsByName, CommandWithExamples, run
from console.durable import what_failed
from console.extras import how_to_add

NAME = "foltr-server"

COMMANDS: Mapping[str, str] = {
    "init": "federation_server.commands.group:init",
    "serve": "federation_server.commands.group:serve",
    "rename": "federation_server.commands.group:rename",
    "invite": "federation_server.commands.members:invite",
    "members": "federation_server.commands.members:members",
    "move": "federation_server.commands.group:move",
    "rounds": "federation_server.commands.rounds:rounds",
    "model": "federation_server.commands.rounds:model",
    "forget": "federation_server.commands.members:forget",
    "backup": "federation_server.commands.backup:backup",
    "restore": "federation_server.commands.backup:restore",
    "keys": "federation_server.commands.keys",
    "config": "federation_server.commands.config",
    "health": "federation_server.commands.health",
    "doctor": "federation_server.commands.checkup:doctor",
    "man": "federation_server.commands.man",
}
"""Each command's module, whose `command` it is, or `MODULE:NAME`; imported only when it is asked for."""


EXAMPLES = """
foltr-server serve                 start (the first time: make a group, print an invite)
foltr-server invite --note Ada     another invite link
foltr-server rounds                what happened
"""


class ServerProgram(CommandsByName, CommandWithExamples):
    """The operator's commands."""

    modules = COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            return super().get_command(ctx, cmd_name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in ("federation_server", "foltr"):
                raise
            raise click.ClickException(f"{error.name} is missing; to add it: {how_to_add('server')}") from error


@click.command(
    cls=ServerProgram,
    examples=EXAMPLES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="FOLTR_SERVER_FOLDER",
    help="The folder of settings, keys and SQLite; default: one in the user's data folder.",
)
@click.pass_context
def program(ctx: click.Context, folder: Path | None) -> None:
    """Serve one group: its devices send noised ranker updates and get a better shared ranker back."""
    ctx.obj = folder or _default_folder()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(FAILED)


def _default_folder() -> Path:
    from platformdirs import user_data_path

    try:
        return user_data_path(NAME)
    except RuntimeError as error:
        raise click.UsageError("there is no home folder; set HOME, or name a folder with --folder") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code."""
    os.umask(0o077)  # settings, keys and rows are for the operator only
    return run(program, arguments, program=NAME, describe=_described)


def _described(error: Exception) -> str | None:
    from foltr.errors import FoltrError

    if isinstance(error, OSError):
        return what_failed(error)
    if isinstance(error, FoltrError):
        return str(error)
    from sqlalchemy.exc import SQLAlchemyError

    from federation_server.database import what_it_said

    return f"the database cannot be used: {what_it_said(error)}" if isinstance(error, SQLAlchemyError) else None
