"""Saved searches and chosen settings exchanged between devices: what a person changed here, and what elsewhere.

Where two devices changed the same name, the later change counts. Settings of others come from devices.json in the data
folder, below config.toml: what a person wrote on a device holds on that device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from app.devices.device_keys import DeviceKeys
from app.devices.record_log import RecordLog
from app.devices.records import DeviceRecord, SavedSearch, SharedSetting, bodies
from app.paths import Paths
from app.search.saved import SavedError, SavedSearches
from app.settings import Settings, written_settings
from app.store import Store
from console.durable import content_of, replace_durably

NOTED = "devices choices"
"""the choices here that the others were last told"""


class _Choices(msgspec.Struct, frozen=True):
    """The choices here when records were last made of them."""

    searches: Mapping[str, str] = {}
    settings: Mapping[str, str] = {}


def note_choices(store: Store, log: RecordLog, keys: DeviceKeys, paths: Paths, settings: Settings) -> None:
    """Make records of what was changed here since the last time.

    The first time nothing of the others is replaced: a search of the same name gets the device's name as a suffix.
    """
    noted, is_first = _noted(store)
    present = _Choices(dict(SavedSearches(paths.saved).all()), written_settings(paths, settings.devices.share))
    own = re.sub(r"\W", "-", keys.name)
    known = {one.name: one.value for one in bodies(log.counting(), SavedSearch)} if is_first else {}
    with store.transaction():
        for name, text in _changed(noted.searches, present.searches):
            is_taken = known.get(name, text) not in (text, "")
            log.add(SavedSearch(f"{name}-{own}" if is_taken else name, text))
        for name, value in _changed(noted.settings, present.settings):
            log.add(SharedSetting(name, value))
        store.set_value(NOTED, msgspec.msgpack.encode(present))


def _noted(store: Store) -> tuple[_Choices, bool]:
    stored = store.value(NOTED)
    return (msgspec.msgpack.decode(stored, type=_Choices), False) if stored else (_Choices(), True)


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    gone = ((name, "") for name in before if name not in after)
    return (*gone, *((name, value) for name, value in after.items() if before.get(name) != value))


def follow_choices(store: Store, counting: Sequence[DeviceRecord], paths: Paths, settings: Settings) -> None:
    """Apply here what was chosen on any device; what this version cannot use is passed over."""
    chosen = {one.name: one.value for one in bodies(counting, SharedSetting) if one.value}
    shared = {}
    for name in sorted(chosen.keys() & set(settings.devices.share)):
        with suppress(msgspec.MsgspecError):
            shared[name] = msgspec.json.decode(chosen[name])
    content = msgspec.json.encode(shared)
    if content != (content_of(paths.shared_settings) if paths.shared_settings.exists() else b"{}"):
        replace_durably(paths.shared_settings, content)
    searches, noted = SavedSearches(paths.saved), _noted(store)[0]
    wanted = {one.name: one.value for one in bodies(counting, SavedSearch)}
    present = dict(searches.all())
    for name, text in wanted.items():
        if present.get(name, "") == noted.searches.get(name, "") != text:  # else it was changed here meanwhile
            with suppress(SavedError):
                if text:
                    searches.save(name, text)
                else:
                    searches.remove(name)
    now_here = {name: text for name, text in searches.all().items() if wanted.get(name) == text}
    kept = {name: text for name, text in noted.searches.items() if name not in wanted}
    store.set_value(NOTED, msgspec.msgpack.encode(_Choices({**kept, **now_here}, noted.settings)))
