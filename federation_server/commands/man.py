"""`foltr-server man`: the manual page, made from the commands themselves."""

from __future__ import annotations

import click

from console.command_line import manual_page

_SECTIONS: dict[str, str | dict[str, str]] = {
    "EXIT STATUS": {
        "0": "done",
        "1": "the server does not answer (health), something is wrong (doctor), or there is nothing to list",
        "2": "an error; one line on standard error says what was expected and what was found instead",
    },
    "ENVIRONMENT": {
        "FOLTR_SERVER_FOLDER": "the folder of settings, keys and SQLite",
        "FOLTR_SERVER__KEY, FOLTR_SERVER_ROUNDS__KEY": (
            "any setting of the table server, rounds and so on, as in FOLTR_SERVER__PORT=9000"
        ),
    },
    "SEE ALSO": r"\fBfoltr\-search\fR(1); docs/server.md",
}


@click.command()
@click.pass_context
def command(ctx: click.Context) -> None:
    """Print the manual page (roff)."""
    click.echo(page(ctx.find_root()), nl=False)


def page(root: click.Context) -> str:
    """The manual page of the whole program."""
    synopsis = [r"\fBfoltr\-server\fR [\fB\-\-folder\fR \fIDIR\fR] \fICOMMAND\fR [\fIARGS\fR]..."]
    return manual_page(root, "serve a group that shares one ranker", synopsis, _SECTIONS)
