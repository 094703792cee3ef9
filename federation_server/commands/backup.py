"""`foltr-server backup`: a copy of everything that is worth keeping, while the server runs."""

from __future__ import annotations

from pathlib import Path

import click

from federation_server import backup
from federation_server.commands.installation import now, open_here


@click.command()
@click.option("--to", "path", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
def command(path: Path) -> None:
    """Write one file with the group, members, rounds and models, and read it through again.

    The backup holds neither members' updates nor keys.json: keep a copy of keys.json apart from the backups.
    """
    backup.write(open_here().engine, path, now=now())
    report = backup.verify(path)
    click.echo(f"{path}: " + ", ".join(f"{count} {table}" for table, count in report.counts.items() if count))
