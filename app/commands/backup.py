"""`foltr-search backup` and `restore`: what this device cannot make anew, in one file, and a device made of one."""

from __future__ import annotations

from pathlib import Path

import click

from app.commands.command import Command, TypedPath, ask, printed_path, say

BACKUP_EXAMPLES = """
foltr-search backup --to ~/foltr-2026-11.zip
foltr-search backup --to /media/disk/foltr.zip     restore brings it back
"""
RESTORE_EXAMPLES = """
foltr-search restore ~/foltr-2026-11.zip      show the contents, ask, restore
foltr-search restore --verify FILE            only check it
"""


@click.command(cls=Command, examples=BACKUP_EXAMPLES)
@click.option(
    "--to", "target", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write."
)
def backup(target: Path) -> int:
    """Save what was learned, the list of folders, settings and saved searches in one file; nothing needs to be stopped.

    It includes picks, and past queries if you keep them, but not the index, which can be rebuilt from your files. It
    contains this device's keys, so show it to nobody.
    """
    import time

    from app.backup import write_backup
    from app.data_folder import refuse_foreign
    from app.paths import Paths, typed_path

    target = typed_path(target)
    paths = Paths.from_environment()
    refuse_foreign(paths)
    names = write_backup(paths, target, now=time.time())
    say(f"{printed_path(str(target))}: {', '.join(names)}")
    return 0


@click.command(cls=Command, examples=RESTORE_EXAMPLES)
@click.argument("file", type=TypedPath(exists=True, dir_okay=False, path_type=Path))
@click.option("--verify", "only_verify", is_flag=True, help="Only check the backup.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(file: Path, only_verify: bool, yes: bool) -> int:
    """Replace what was learned, the list of folders, settings and saved searches by those of the backup FILE.

    Privacy budget spent since the backup stays spent, and a group joined or left since stays joined or left. The index
    does not change; `index` builds one if it is missing. Files that are not in the backup stay.
    """
    from app.backup import read_backup, replaced
    from app.backup import restore as put_back
    from app.data_folder import refuse_foreign
    from app.paths import Paths
    from console.wording import iso_minute

    paths = Paths.from_environment()  # not the settings, which may be what is to be mended
    refuse_foreign(paths)
    about, inside = read_backup(file)
    say(f"made {iso_minute(about.made)}: {', '.join(inside)}")
    if only_verify:
        return 0
    if there := replaced(paths, inside):
        named = ", ".join(printed_path(str(path)) for path in there)
        ask(f"The present contents of these are lost: {named}. Restore?", yes=yes)
    put_back(paths, file)
    say("restored; `foltr-search index` brings the index up to date")
    return 0
