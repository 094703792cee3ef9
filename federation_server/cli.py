"""The command line `foltr-server`: each file in federation_server/commands is one command.

Exit codes: 0 done, 1 nothing found, 2 an error (one line on stderr; FOLTR_DEBUG=1 shows the traceback), 130
interrupted. stdout carries results only.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

NAME = "foltr-server"
FAILED, INTERRUPTED = 2, 130

COMMANDS: Mapping[str, str] = {
    "init": "federation_server.commands.init",
    "serve": "federation_server.commands.serve",
    "rename": "federation_server.commands.rename",
    "invite": "federation_server.commands.invite",
    "members": "federation_server.commands.members",
    "move": "federation_server.commands.move",
    "rounds": "federation_server.commands.rounds",
    "model": "federation_server.commands.model",
    "forget": "federation_server.commands.forget",
    "backup": "federation_server.commands.backup",
    "restore": "federation_server.commands.restore",
    "keys": "federation_server.commands.keys",
    "config": "federation_server.commands.config",
    "health": "federation_server.commands.health",
    "doctor": "federation_server.commands.doctor",
}
"""Each command's module, whose `command` it is; imported only when it is asked for."""


class ServerProgram(click.Group):
    """The commands by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(COMMANDS[cmd_name])
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in ("federation_server", "foltr"):
                raise
            raise click.ClickException(
                f"{error.name} is missing; install the server with: pip install 'foltr-search[server]'"
            ) from error
        command: click.Command = module.command
        return command


@click.command(cls=ServerProgram, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="FOLTR_SERVER_FOLDER",
    help="Where settings, keys and SQLite are; default: the user's data folder.",
)
@click.pass_context
def program(ctx: click.Context, folder: Path | None) -> None:
    """Serve one group: its devices send noised ranker updates, and get a better common ranker back.

    \b
    foltr-server serve                 start (the first time: make a group, print an invite)
    foltr-server invite --note Ada     another invite link
    foltr-server rounds                what happened
    """
    ctx.obj = folder or _default_folder()


def _default_folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path(NAME)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code."""
    os.umask(0o077)  # settings, keys and rows are for the operator only
    from console.standard_streams import open_missing, show_everything
    from foltr.errors import FoltrError

    open_missing()
    show_everything()
    try:
        code = program.main(
            args=list(sys.argv[1:] if arguments is None else arguments), prog_name=NAME, standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        return FAILED
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (FoltrError, OSError) as error:
        if os.environ.get("FOLTR_DEBUG"):
            raise
        click.echo(f"{NAME}: {error}", err=True)
        return FAILED
    return code if isinstance(code, int) else 0
