"""kill -9 while devices exchange: what was acknowledged reaches the other one, and both end alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.devices.naming import shared_log
from app.devices.own_devices import OwnDevices
from app.devices.records import Opened, bodies, that_count
from app.store import Store
from indexer.storage.catalogue import Catalogue
from tests import copied
from tests.app.devices.computers import Computer
from tests.federation_server.client import Running, make_server, running

KILLS = int(os.environ.get("FOLTR_TEST_KILLS", "25"))

# A copy of a process that has everything loaded opens documents and meets the other devices, again and again, until it
# is killed at a random moment; it says which openings had returned. The copies take turns on two devices.
SCRIPT = """
import os, random, signal, sys, time
from contextlib import closing
from pathlib import Path
from app.devices.own_devices import OwnDevices
from app.devices.pick_memory import open_picks
from app.paths import Paths
from app.settings import Settings
from app.store import Store
from indexer.storage.catalogue import Catalogue

draw = random.Random(27)

def work(paths, number, acknowledge):
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        for turn in range(1000):
            with Store(paths.state) as store:
                picks, _ = open_picks(store, paths, catalogue)
                name = f"{number}-{turn}"
                picks.record([name], f"/nowhere/{name}", "", type="text", now=time.time())
                os.write(acknowledge, name.encode() + b"\\n")
            OwnDevices(paths, Settings()).meet()

for number in range(int(sys.argv[2])):
    place = Path(sys.argv[1]) / ("laptop", "desk")[number % 2]
    paths = Paths(place / "config", place / "data")
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        work(paths, number, write)
        os._exit(0)
    os.close(write)
    first = os.read(read, 65536)  # it has begun
    time.sleep(draw.uniform(0, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.stdout.write(first.decode() + os.read(read, 1 << 20).decode())
"""


@pytest.fixture(params=["folder", "server"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | Running]:
    """Where computers may meet."""
    if request.param == "folder":
        yield tmp_path / "cloud"
        return
    with running(make_server(tmp_path / "server", quorum=1000)) as group:
        yield group


def test_nothing_acknowledged_is_lost(tmp_path: Path, anywhere: Path | Running) -> None:
    """Killed at random points of opening, reading, writing and merging, two devices lose no opening, and end alike."""
    laptop, desk = Computer(tmp_path / "laptop", anywhere), Computer(tmp_path / "desk", anywhere)
    desk.join(laptop.begin())
    done = copied.run([str(tmp_path), str(KILLS)], variables=os.environ, cwd=tmp_path, code=SCRIPT)
    assert done.returncode == 0, done.stderr
    acknowledged = done.stdout.split()
    assert len(acknowledged) >= KILLS
    for computer in (laptop, desk, laptop):
        computer.meet()
    assert laptop.picks() == desk.picks()
    assert laptop.weights() == desk.weights()
    for computer in (laptop, desk):
        assert len(opened_on(computer)) >= len(acknowledged)


def opened_on(computer: Computer) -> set[bytes]:
    """The queries of all openings that a device knows."""
    keys = OwnDevices(computer.paths, computer.settings).keys
    catalogue = Catalogue.open(computer.paths.catalogue)
    try:
        with Store(computer.paths.state) as store:
            log = shared_log(store, keys, catalogue)
            assert log is not None
            return {one.query for one in bodies(that_count(log.log.all()), Opened)}
    finally:
        catalogue.close()
