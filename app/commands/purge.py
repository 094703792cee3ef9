"""`foltr-search purge`: what this program has made here, and its removal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.command import Command, ask, load, print_line, printed_path, say

if TYPE_CHECKING:
    from app.paths import Paths

EXAMPLES = """
foltr-search purge            list everything with its size, ask, delete
foltr-search purge --yes      do not ask
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(yes: bool) -> int:
    """Delete everything the program made: index, what was learned, settings and saved searches.

    This does not touch your own files, nor the program itself (pipx uninstall foltr-search, or as you installed it).
    """
    from itertools import groupby

    from app.own_files import belongings, own_units, remove, strangers
    from console.wording import size

    paths = load().paths
    home = Path(os.path.expanduser("~"))
    found = belongings(paths, home=home)
    if not found:
        say("foltr-search has no files here")
        return 0
    for (what, place), own in groupby(found, key=lambda one: (one.what, _shown(one.path, paths))):
        several = list(own)
        number = f", {len(several)} files" if several[0].path != place else ""
        n_bytes = sum(one.n_bytes for one in several)
        print_line(f"{size(n_bytes):>12}  {printed_path(str(place))}  ({what}{number})")
    print_line(f"{size(sum(one.n_bytes for one in found)):>12}  in all")
    for path in strangers(paths):
        say(f"{printed_path(str(path))} does not belong to this program, so it stays")
    for path in own_units(home):
        say(f"{printed_path(str(path))} was changed by you, so it stays")
    if _in_a_group(paths):
        say("this device is in a group, and loses its key: `foltr-search forget-me` first has the group forget it")
    ask("Delete all of this?", yes=yes)
    remove(belongings(paths, home=home), paths)
    say(f"{size(sum(one.n_bytes for one in found))} deleted")
    return 0


def _shown(path: Path, paths: Paths) -> Path:
    """The folder in place of what lies in one of the program's inner folders."""
    return path.parent if path.parent in (paths.index, paths.data_dir / "mail") else path


def _in_a_group(paths: Paths) -> bool:
    from app.store import StateError, Store

    if not paths.state.exists():
        return False
    try:
        with Store(paths.state, writable=False) as store:
            return bool(store.rows("SELECT 1 FROM membership"))
    except StateError:
        return False  # a file that cannot be read holds no keys that can be used
