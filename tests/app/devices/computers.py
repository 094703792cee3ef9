"""Computers of one person, each with a separate home, that share a folder or a group's server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from app.devices.device_keys import DeviceKeys, read_keys
from app.devices.naming import ADOPTED
from app.devices.own_devices import OwnDevices
from app.federation import membership
from app.federation.join_and_leave import Admission
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, LearningSettings, Paths, Settings
from app.store import Store
from tests.app.indexed import index_files
from tests.federation_server.client import Running

SETTINGS = Settings(index=IndexSettings(workers=1), learning=LearningSettings(exploration=0.0))
NOTES = {
    "birds/heron.txt": "Grey heron. The heron stands in the water and waits for fish.",
    "birds/stork.txt": "White stork. The stork walks in the meadow and waits for frogs and fish.",
    "birds/crane.txt": "Common crane. The crane dances on the bog and eats no fish, or hardly any.",
    "tax/2024.txt": "Tax return: fish pond, heron street 5, income and expenses.",
}


@dataclass
class Computer:
    """One of them; `root` below its folder is what it has indexed."""

    place: Path
    shared: Path | Running
    root: str = "notes"
    notes: dict[str, str] = field(default_factory=lambda: dict(NOTES))
    settings: Settings = SETTINGS

    def __post_init__(self) -> None:
        for name, text in self.notes.items():
            path = self.place / self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.index()

    @property
    def paths(self) -> Paths:
        return Paths(self.place / "config", self.place / "data")

    @property
    def where(self) -> str:
        """Where it meets the others, as the program names it."""
        if isinstance(self.shared, Path):
            return str(self.shared)
        invite = self.shared.invite()
        return f"{invite.address}#{invite.group_id}.{invite.certificate}".rstrip(".")

    @property
    def name(self) -> str:
        return self.place.name

    @property
    def keys(self) -> DeviceKeys:
        keys = read_keys(self.paths)
        assert keys is not None
        return keys

    def index(self) -> None:
        index_files(self.settings, self.paths, [str(self.place / self.root)])

    def devices(self) -> OwnDevices:
        return OwnDevices(self.paths, self.settings)

    def begin(self, *, replaces: bool = False) -> str:
        if isinstance(self.shared, Running):
            self.enrol(self.shared)
        devices = self.devices()
        devices.begin(self.name, self.where, replaces=replaces)
        return devices.code

    def enrol(self, group: Running) -> None:
        """Become a member of this group, if it is none yet."""
        with Store(self.paths.state) as store:
            if membership.load(store) is None:
                Admission(store, self.settings).join(group.invite(), agrees=lambda lines: True)

    def join(self, code: str) -> None:
        self.devices().join(code, self.name, self.where)

    def meet(self) -> None:
        self.devices().meet()

    @contextmanager
    def searching(self) -> Iterator[Search]:
        search = Search(self.settings, self.paths)
        try:
            yield search
        finally:
            search.close()

    def ask(self, query: str) -> list[str]:
        """What is found, the best first, by file name."""
        with self.searching() as search:
            return names(search.search(SearchRequest(query)))

    def open(self, query: str, name: str) -> None:
        """Search, open a result and leave the page."""
        with self.searching() as search:
            page = search.search(SearchRequest(query))
            search.opened(page, next(hit for hit in page.hits if Path(hit.path).name == name))
            search.leave(page)

    def weights(self) -> bytes:
        """What was learned, bit by bit."""
        with self.searching() as search:
            model = search.learner.model
            return msgspec.msgpack.encode((model.votes, model.theta.tolist(), model.n_pages, model.n_picks))

    def picks(self) -> dict[bytes, list[object]]:
        """The pick memory, bit by bit."""
        with Store(self.paths.state) as store:
            return {
                table.encode(): sorted(map(tuple, store.rows(f"SELECT * FROM {table}")))
                for table in ("picks", "picked_documents")
            }

    def is_one_of_several(self) -> bool:
        with Store(self.paths.state) as store:
            return store.value(ADOPTED) is not None

    def with_settings(self, **sections: object) -> Computer:
        return replace(self, settings=msgspec.structs.replace(self.settings, **sections))


def names(page: ResultPage) -> list[str]:
    return [Path(hit.path).name for hit in page.hits]
