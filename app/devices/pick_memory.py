"""The pick memory under this device's names; on a single device, as most are, nothing else of this room is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.learning.pick_keys import load_key
from app.learning.picks import Picks
from app.paths import Paths
from app.store import Store
from indexer.storage.catalogue import Catalogue

if TYPE_CHECKING:
    from app.devices.naming import SharedLog


def open_picks(
    store: Store, paths: Paths, catalogue: Catalogue, *, enabled: bool = True
) -> tuple[Picks, SharedLog | None]:
    """The pick memory, and the log that tells this person's other devices of changes, if there are any."""
    if paths.assistant or not paths.device_keys.exists():
        return Picks(store, load_key(paths.key, store), enabled=enabled), None
    from app.devices.device_keys import read_keys
    from app.devices.naming import naming_of, shared_log

    keys = read_keys(paths)
    naming, log = naming_of(store, paths, catalogue, keys), shared_log(store, keys, catalogue)
    return Picks(store, naming.key, enabled=enabled, place=naming.place, log=log), log
