"""How a path reaches stdout: its very bytes for a program, and for a terminal what it can show.

`app.cli.main` lets stdout pass on bytes that are not UTF-8. A name may hold a line end: `--paths0` and JSON are for
those.
"""

from __future__ import annotations

import sys

import click

from console.printable import display_path


def printed_path(path: str) -> str:
    """The path itself where stdout is no terminal, else without control and direction characters."""
    return display_path(path) if sys.stdout.isatty() else path


def print_line(line: str) -> None:
    """One line on stdout as it is: left alone, click would take what looks like colour out of a name in a pipe."""
    click.echo(line, color=True)
