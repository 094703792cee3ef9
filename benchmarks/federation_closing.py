"""How long closing a round of many updates takes, and how much memory: a group on SQLite, no network.

    python -m benchmarks.federation_closing [--devices 10000] [--rounds 2]

The members and their updates are written into the database; then the round is closed as `foltr-server serve` does. The
second round finds what the guard remembers of the first. The largest memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from sqlalchemy import insert, update

from benchmarks.federation_devices import Device
from benchmarks.tables import machine
from federation_server import setup
from federation_server.database import reading, writing
from federation_server.group import group
from federation_server.rounds import closing, rounds
from federation_server.rounds.rounds import policy_of
from federation_server.serve import Installation
from federation_server.tables import members, updates
from federation_server.tables import rounds as rounds_table
from foltr.federated.fpdgd import FPDGDMessage
from foltr.federated.payload import encode_message

SETTINGS = """
[server]
database = "sqlite:///group.sqlite"
[rounds]
quorum = {n}
floor = 1
[method]
mode = "open"
"""


def made(folder: Path, n: int) -> Installation:
    """A group with so many members and its first round open."""
    folder.mkdir()
    (folder / "server.toml").write_text(SETTINGS.format(n=n), encoding="utf-8")
    installation = setup.make(folder, name="closing", start=setup.shipped_start(), now=int(time.time()))
    with writing(installation.engine) as connection:
        for i in range(0, n, 1000):
            rows = [Device.of(number) for number in range(i, min(i + 1000, n))]
            connection.execute(insert(members), [
                {"device": one.name, "device_key": one.identity.public, "joined": 1} for one in rows
            ])  # fmt: skip
        closing.close_due(connection, installation.vault, policy_of(installation.settings), now=1)
    return installation


def fill(installation: Installation, n: int, rng: np.random.Generator) -> None:
    """One update of each member in the open round: noise alone, as of who has nothing to say."""
    with writing(installation.engine) as connection:
        here, method = rounds.present(connection), group.method_of(group.terms(connection))
        assert here is not None
        begun = method.sent(group.newest(connection).model.theta)
        noise = method.joining.noise
        assert noise is not None
        for i in range(0, n, 1000):
            connection.execute(insert(updates), [
                {
                    "lineage": here.lineage, "round": here.number, "device": Device.of(number).name, "digest": "0" * 64,
                    "received": 1, "norm": 1.0, "payload": installation.vault.encrypt(encode_message(
                        method, FPDGDMessage(begun + noise.deviation * rng.normal(size=method.n_sent), 1)
                    )),
                }
                for number in range(i, min(i + 1000, n))
            ])  # fmt: skip
        key = (rounds_table.c.lineage == here.lineage, rounds_table.c.round == here.number)
        connection.execute(update(rounds_table).where(*key).values(n_updates=n))


def main() -> None:
    """Print a line for each round."""
    parser = argparse.ArgumentParser(description="Closing of one round.")
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2)
    wanted, rng = parser.parse_args(), np.random.default_rng(1)
    print(machine())
    with tempfile.TemporaryDirectory(prefix="foltr-closing-") as folder:
        installation = made(Path(folder) / "server", wanted.devices)
        for _ in range(wanted.rounds):
            fill(installation, wanted.devices, rng)
            began, used = time.perf_counter(), time.process_time()
            with writing(installation.engine) as connection:
                closed = closing.close_due(
                    connection, installation.vault, policy_of(installation.settings), now=int(time.time())
                )
            assert closed is not None
            megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"round {closed.round}: {closed.n_updates} updates, {time.perf_counter() - began:.2f} s, "
                f"{time.process_time() - used:.2f} s of processor, {megabytes:.0f} MB at most; guard: {closed.summary}"
            )
        with reading(installation.engine) as connection:
            assert rounds.present(connection) is not None
        installation.engine.dispose()


if __name__ == "__main__":
    main()
