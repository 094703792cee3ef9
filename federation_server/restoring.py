"""A restored group goes on above all that was: a new lineage, without those who were forgotten since the backup.

Devices have seen rounds that the backup does not know. A lineage with a number that no server of this group can have
given before leaves them behind; devices follow it as any other. Its number is that of the second in which it begins,
unless the backup, or a restore before, had a higher one.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from federation_server import backup, forgetting, group, rounds, tombstones
from federation_server.backup import BackupContents
from federation_server.forgetting import Forgetter
from federation_server.serve import Installation
from federation_server.tombstones import Restored


def restore(installation: Installation, path: Path, *, now: int) -> BackupContents:
    """Put a verified backup into the empty database and begin its new lineage, in one transaction."""

    def begin(connection: Connection) -> None:
        begin_anew(connection, installation.forgetter, now=now)

    return backup.restore(installation.engine, path, afterwards=begin)


def begin_anew(connection: Connection, forgetter: Forgetter, *, now: int) -> int:
    """The new lineage of a database that was just filled from a backup; its number."""
    forgetting.forget_again(connection, forgetter, now=now)
    tombstones.carry_over(connection, forgetter.file)
    forgetting.abandon(connection, rounds.present(connection, lock=True), now=now)
    forgetting.end_unlearning(connection)
    least = max(now, tombstones.newest_restored(forgetter.file.read()) + 1)
    begun = group.branch(connection, group.newest(connection), reason="restore", now=now, least=least)
    forgetter.file.append(Restored(begun))
    return begun
