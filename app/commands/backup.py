"""`foltr-search backup`: what this device cannot make anew, in one file."""

from __future__ import annotations

from pathlib import Path

import click

from app.commands.command import Command, say

EXAMPLES = """
foltr-search backup --to ~/foltr-2026-11.zip
foltr-search backup --to /media/disk/foltr.zip     restore brings it back
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option(
    "--to", "target", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write."
)
def command(target: Path) -> int:
    """Save what was learned, the folders, settings and saved searches in one file, while anything runs.

    It includes picks, and past queries if you keep them, but not the index, which comes from your files. It holds this
    device's keys: keep it to yourself.
    """
    import time

    from app.backup import write_backup
    from app.commands.command import printed_path
    from app.paths import Paths

    target = target.expanduser().absolute()
    paths = Paths.from_environment()
    paths.refuse_foreign()
    names = write_backup(paths, target, now=time.time())
    say(f"{printed_path(str(target))}: {', '.join(names)}")
    return 0
