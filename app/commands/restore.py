"""`foltr-search restore`: a backup in the place of what is here."""

from __future__ import annotations

from pathlib import Path

import click

from app.commands.command import Command, say

EXAMPLES = """
foltr-search restore ~/foltr-2026-11.zip      show the contents, ask, restore
foltr-search restore --verify FILE            only check it
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--verify", "only_verify", is_flag=True, help="Only check the backup.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(file: Path, only_verify: bool, yes: bool) -> int:
    """Replace what was learned, the folders, settings and saved searches with the backup FILE.

    What was spent on privacy since stays spent, and a group that was joined or left since stays so. The index does not
    change; `index` builds one if it is missing. Files that the backup lacks stay.
    """
    from app.backup import read_backup, replaced, restore
    from app.commands.command import printed_path
    from app.paths import Paths
    from console.wording import iso_minute

    paths = Paths.from_environment()  # not the settings, which may be what is to be mended
    paths.refuse_foreign()
    about, inside = read_backup(file)
    say(f"made {iso_minute(about.made)}: {', '.join(inside)}")
    if only_verify:
        return 0
    there = replaced(paths, inside)
    if there and not yes:
        named = ", ".join(printed_path(str(path)) for path in there)
        click.confirm(f"What these hold now is lost: {named}. Restore?", abort=True, err=True)
    restore(paths, file)
    say("restored; `foltr-search index` brings the index up to date")
    return 0
