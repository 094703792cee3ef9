"""`foltr-server restore`: put a backup into a new database, or only check it."""

from __future__ import annotations

from pathlib import Path

import click

from federation_server import backup
from federation_server.commands.installation import now, open_here, when


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--verify", "only_verify", is_flag=True, help="Only check the backup.")
def command(path: Path, only_verify: bool) -> None:
    """Restore PATH into the empty database that server.toml names; this needs the keys.json of that backup's group.

    A new lineage begins, above all earlier ones; devices follow at their next sync. Members forgotten since the backup
    are forgotten again. A backup of SQLite can be restored into PostgreSQL and the other way round.
    """
    report = backup.verify(path) if only_verify else backup.restore(open_here(), path, now=now())
    rows = ", ".join(f"{count} {table}" for table, count in report.counts.items() if count)
    click.echo(f"{'whole' if only_verify else 'restored'}, made {when(report.made)}: {rows}")
