"""Which devices a person has: the first, one more by its code, one less, and this one alone again."""

from __future__ import annotations

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from app.data_folder import create_data_folder
from app.devices.choices import NOTED
from app.devices.device_keys import DeviceKeys, Generation, from_code, new_secret, read_keys, to_code, write_keys
from app.devices.exchange import Meeting, Met, common_place
from app.devices.group_record import hand_pen, holder
from app.devices.meeting_place import delivered
from app.devices.naming import ADOPTED
from app.devices.record_log import RecordLog
from app.devices.records import DeviceCard, Removed, bodies
from app.devices.sealing import DevicesError
from app.devices.server_depot import address_of, is_of, is_server, make_depot
from app.devices.shared_folder import SharedFolder
from app.federation import answering_device, membership
from app.federation.failures import Unreachable
from app.learning.pick_keys import load_key
from app.paths import Paths, SettingsError
from app.settings import Settings
from app.store import Store
from foltr.errors import FoltrError
from indexer.errors import IndexerError
from indexer.storage.catalogue import Catalogue
from indexer.storage.file_lock import FileLock

NAME_LENGTH = 40
PATIENCE = 10.0
"""seconds that an exchange waits for another process of this device to end its own"""
TROUBLES = (FoltrError, IndexerError, SettingsError, OSError, sqlite3.Error)
"""with which an exchange may end"""


class OwnDevices:
    """This person's devices, as this one knows them."""

    def __init__(self, paths: Paths, settings: Settings) -> None:
        self._paths, self._settings = paths, settings
        create_data_folder(paths)
        self.keys = read_keys(paths)

    def begin(self, name: str, place: str, *, replaces: bool = False) -> Met:
        """Make this the first device, meeting others in a folder or at a server; `replaces`: files there may go."""
        self.require_alone()
        name, generation = _name(name), Generation(0, new_secret())
        if is_server(place) and not self._made_depot(place, generation, replaces=replaces):
            raise DevicesError("only a member of the server's group can begin to share there")
        if not is_server(place):
            Path(place).mkdir(parents=True, exist_ok=True)
            if SharedFolder(place).names():
                raise DevicesError(
                    f"{place} holds files of other devices: join them by their code, or name another one"
                )
        with Store(self._paths.state) as store:
            names = self.keys.names if self.keys else load_key(self._paths.key, store)
        return self._become(name, place, generation, names, is_first=True)

    def _made_depot(self, place: str, generation: Generation, *, replaces: bool = False) -> bool:
        """Whether `place` is the server of this member's group, which then keeps files under this key."""
        member = self._member()
        if member is None or not is_of(place, member):
            return False
        make_depot(member, generation, self._settings.federation, replaces=replaces)
        return True

    def _took_over(self) -> bool:
        """Whether a former key opened what the server keeps (after its restore) and the present one replaced it."""
        keys = self._joined()
        for n in range(len(keys.generations) - 1, 0, -1):
            with suppress(DevicesError):
                former = replace(keys, generations=keys.generations[:n])
                common_place(former, self._settings).succeed(b"", keys.newest)
                return True
        return False

    def at_server(self, address: str) -> str:
        """The place at this address; for "", at the server of this device's group, DevicesError without a group."""
        if address and not re.match(r"https?://[^#]+#[0-9a-f]{32}\b", address):
            got = repr(address) if "://" in address else "none"  # it may be the code, which nobody shows
            raise DevicesError(f"wanted the whole address that `devices new` shows, https://...#..., got {got}")
        member = self._member()
        if not address and (member is None or not member.group_id):
            raise DevicesError("in no group: `foltr-search join LINK` first, or --server ADDRESS from `devices new`")
        return address or (address_of(member) if member else "")

    def join(self, code: str, name: str, place: str) -> Met:
        """Make this device one more of those that meet in `place`."""
        self.require_alone()
        secret = from_code(code)
        trying = DeviceKeys.begun(name, place, Generation(0, secret), b"", None)
        there = common_place(trying, self._settings)
        files = there.read(sorted(there.names()))
        found = next(filter(None, (delivered(content, trying) for _, content in files)), None)
        if found is None:
            raise DevicesError(
                f"nothing in {place.partition('#')[0]} opens with this code: wait until all of it is there, or take "
                "the code that `foltr-search devices new` shows on another device now"
            )
        return self._become(name, place, found[0].generation(secret), found[0].names)

    def require_alone(self) -> None:
        """DevicesError where this is one of several already."""
        if self.keys and not self.keys.has_left:
            raise DevicesError(
                f"this is one of several devices already, as {self.keys.name!r}; `devices leave` ends it"
            )

    def _become(self, name: str, place: str, generation: Generation, names: bytes, *, is_first: bool = False) -> Met:
        with self._alone():
            self.require_alone()
            self.keys = DeviceKeys.begun(_name(name), place, generation, names, self.keys)
            with Store(self._paths.state) as store:
                RecordLog(store, self.keys.device).drop_all()
                store.set_value(NOTED, None)
                answering_device.be_alone(store)  # a kill may prevent it from becoming one of several
                if is_first:
                    answering_device.be_one_of_several(store, is_first=True)
            write_keys(self._paths, self.keys)
            return self._meet()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """With the keys as they are now, which no other process changes meanwhile."""
        with closing(FileLock(self._paths.data_dir / "devices.lock")) as lock:
            until = time.monotonic() + PATIENCE
            while not lock.take():
                if time.monotonic() > until:
                    raise DevicesError("another process exchanges with the other devices now; try again")
                time.sleep(0.02)
            self.keys = read_keys(self._paths)
            yield

    @property
    def code(self) -> str:
        """The code by which one more device can join now."""
        return to_code(self._joined().newest.secret)

    @property
    def option(self) -> str:
        """The option that tells one more device where these meet."""
        place = self._joined().folder
        return f"--server {place}" if is_server(place) else "--folder FOLDER"

    def _joined(self) -> DeviceKeys:
        if self.keys is None or self.keys.has_left:
            raise DevicesError("this computer shares with no other; begin with `foltr-search devices new` or `join`")
        return self.keys

    def meet(self) -> Met:
        """Exchange what is new with the others."""
        with self._alone():
            return self._meet()

    def _meet(self) -> Met:
        with closing(Catalogue.open(self._paths.catalogue)) as catalogue, Store(self._paths.state) as store:
            keys, member = self._joined(), membership.load(store)
            if member is not None and is_of(keys.folder, member) and keys.folder != address_of(member):
                keys = replace(keys, folder=address_of(member))  # its server has moved
                write_keys(self._paths, keys)
            meeting = Meeting(self._paths, self._settings, store, catalogue, keys)
            met = meeting.run()
            self.keys = meeting.keys
        return met

    def meet_in(self, place: str) -> Met:
        """Meet in another place from now on, and write there all that this device knows."""
        with self._alone():
            self.keys = replace(self._joined(), folder=place)
            try:
                self._made_depot(place, self.keys.newest)
            except DevicesError:
                if not self._took_over():
                    raise
            common_place(self.keys, self._settings).names()
            with Store(self._paths.state) as store:
                RecordLog(store, self.keys.device).read_anew()
            write_keys(self._paths, self.keys)
            return self._meet()

    def known(self) -> list[DeviceCard]:
        """The devices that were not removed, sorted by name; equal names get the beginning of their id appended."""
        keys = self._joined()
        with Store(self._paths.state) as store:
            counting = RecordLog(store, keys.device).counting()
        removed = {one.name for one in bodies(counting, Removed)}
        cards = [one for one in bodies(counting, DeviceCard) if one.name not in removed]
        n_called = Counter(one.called for one in cards)
        more = (f" {one.name.hex()[:6]}" if n_called[one.called] > 1 else "" for one in cards)
        named = (replace(one, value=(one.called + end, one.value[1])) for one, end in zip(cards, more, strict=True))
        return sorted(named, key=lambda one: one.value)

    def _others(self) -> list[DeviceCard]:
        return [one for one in self.known() if one.name != self._joined().device]

    def remove(self, name: str) -> Met:
        """Remove another device from this person's: it cannot read what is written from now on."""
        self._note_removed(self._other(name))
        return self.meet()

    def _other(self, name: str) -> bytes:
        self.meet()  # it may have joined since
        others = self._others()
        found = next((one.name for one in others if one.called == name), None)
        if found is None:
            there_are = ", ".join(one.called for one in others) or "none"
            raise DevicesError(f"no other device is called {name!r}; there are {there_are}")
        return found

    def hand_pen(self, name: str) -> Met:
        """Let another device answer the group from now on; FederationError unless this one does now."""
        other = self._other(name)
        with self._alone():
            keys = self._joined()
            with Store(self._paths.state) as store:
                hand_pen(RecordLog(store, keys.device), other)
            return self._meet()

    def take_pen(self) -> Met:
        """Answer the group from now on without being handed the pen, as the device that had it is lost."""
        self.meet()
        with self._alone():
            with Store(self._paths.state) as store:
                answering_device.take(store)
            return self._meet()

    def holder(self) -> bytes:
        """The device that answers the group for all, b"" where it is not a known one."""
        with Store(self._paths.state) as store:
            found = holder(RecordLog(store, self._joined().device))
        return found if any(one.name == found for one in self.known()) else b""

    def group(self) -> str:
        """The group that this person is a member of, "" for none."""
        member = self._member()
        return member.group if member else ""

    def _member(self) -> membership.Membership | None:
        with Store(self._paths.state) as store:
            return membership.load(store)

    def leave(self) -> str:
        """Be alone again: what was learned stays here, and the others go on under a new key, and as the group's member.

        Returns why they were not told, else ""; one of them can still remove this one.
        """
        with self._alone():
            keys, trouble = self._joined(), ""
            try:
                self._meet()
                self._leave_group_to(self._others())
                self._note_removed(keys.device)
                self._meet()
                if is_server(keys.folder) and not self._others():
                    depot = common_place(self._joined(), self._settings)
                    depot.remove(sorted(depot.names()))
            except TROUBLES as error:
                trouble = " ".join(str(error).split())
            others = self._others()
            with Store(self._paths.state) as store:
                RecordLog(store, keys.device).drop_all()
                if others:
                    membership.erase(store, is_over=False)
                answering_device.be_alone(store)
            self.keys = self._joined().left()
            write_keys(self._paths, self.keys)
        return trouble

    def _leave_group_to(self, heirs: Sequence[DeviceCard]) -> None:
        keys = self._joined()
        with Store(self._paths.state) as store:
            for heir in heirs if answering_device.holds(store) else ():
                with suppress(DevicesError):  # nothing has come from this heir yet
                    hand_pen(RecordLog(store, keys.device), heir.name)
                    break

    def _note_removed(self, device: bytes) -> None:
        with Store(self._paths.state) as store:
            if store.value(ADOPTED) != self._joined().device:
                raise DevicesError("this device has not met the others yet; `foltr-search devices sync` does")
            RecordLog(store, self._joined().device).add(Removed(device))


def _name(typed: str) -> str:
    """What a device is called; DevicesError for nothing."""
    if not (plain := " ".join(typed.split())[:NAME_LENGTH]):
        raise DevicesError("wanted a name for this device, got none")
    return plain


def who_answers(paths: Paths, settings: Settings) -> str:
    """Which other device answers the group, or that none does and how to change that; "" where this one may answer."""
    if not paths.device_keys.exists():
        return ""
    with Store(paths.state) as store:
        if answering_device.holds(store) or membership.load(store) is None:
            return ""
    devices = OwnDevices(paths, settings)
    holder = devices.holder()
    names = [one.called for one in devices.known() if one.name == holder]
    if not names:
        return "none of your computers answers the group; `foltr-search devices pen --take` on one of them ends that"
    return f"{names[0]} answers the group for all of your computers; `foltr-search devices pen` there hands that on"


def meet_quietly(paths: Paths, settings: Settings) -> str:
    """Exchange with the other devices, if this is one of several; why that failed, as one line, else ""."""
    try:
        return meet_others(paths, settings)
    except Unreachable as error:
        return f"other devices: {error}"


def meet_others(paths: Paths, settings: Settings) -> str:
    """The same; Unreachable where they meet at a server, and it does not answer."""
    if not paths.device_keys.exists():
        return ""
    try:
        devices = OwnDevices(paths, settings)
        if devices.keys is None or devices.keys.has_left:
            return ""
        met = devices.meet()
    except Unreachable:
        raise
    except TROUBLES as error:
        return " ".join(f"other devices: {error}".split())
    return f"other devices: {met.words()}" if met.is_shut_out else ""
