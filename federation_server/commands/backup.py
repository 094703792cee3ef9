"""`foltr-server backup` and `restore`: a copy of everything that is worth keeping, and a server made of one."""

from __future__ import annotations

from pathlib import Path

import click

from console.wording import rows_in_words
from federation_server import backup as backups
from federation_server.commands.installation import now, open_here, when


@click.command()
@click.option("--to", "path", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
def backup(path: Path) -> None:
    """Write one file with the group, members, rounds and models, and check it by reading it back.

    The backup holds neither members' updates nor keys.json: keep a copy of keys.json apart from the backups.
    """
    backups.write(open_here().engine, path, now=now())
    click.echo(f"{path}: {rows_in_words(backups.verify(path).counts)}")


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--verify", "only_verify", is_flag=True, help="Only check the backup.")
def restore(path: Path, only_verify: bool) -> None:
    """Restore the backup PATH into the empty database that server.toml names; this needs the group's keys.json.

    A new lineage begins, with a higher number than all before; devices follow at their next sync. Members forgotten
    since the backup are forgotten again. A backup of SQLite can be restored into PostgreSQL, and the other way round.
    """
    report = backups.verify(path) if only_verify else backups.restore(open_here(), path, now=now())
    click.echo(f"{'complete' if only_verify else 'restored'}, made {when(report.made)}: {rows_in_words(report.counts)}")
