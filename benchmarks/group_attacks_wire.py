"""An attack of benchmarks.group_attacks over the wire: sixteen silent members, four attackers, a real server.

    python -m benchmarks group_attacks_wire [--attack none "steady .9"] [--rounds 30] [--seeds 3] [--no-guard]

The server is `foltr-server serve` on loopback with the terms of former groups (fifty weights, clip .1, noise 4), in the
mode open; each member fetches the announcement and the ranker, and sends its update sealed and signed. The attackers
push where it costs most on the judged queries. nDCG@10 is of the ranker that the server published; with the attack
`none` all twenty are honest, with the same random draws.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import numpy as np
from sqlalchemy import insert, select

from benchmarks.federation_devices import Connection, Device, ServerProcess, free_port, present_round, sealed_update
from benchmarks.group_attacks import World, direction, plans, world
from benchmarks.hostile_members import ATTACKS, Scene
from benchmarks.running import Option, arguments
from benchmarks.tables import machine
from federation_server import setup
from federation_server.database import reading, writing
from federation_server.serve import Installation
from federation_server.tables import members, rounds
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import largest_update
from foltr.federated.joining import noise_of
from foltr.federated.method import Model

N, N_MALICIOUS = 20, 4
SETTINGS = """
[server]
port = {port}
[rounds]
quorum = 20
floor = 20
in_period = 0
[method]
mode = "open"
shared = []
learning_rate = 0.05
longest_step = 0.0
longest_query = 0.0
privacy = {{ mechanism = "gaussian", clip = 0.1, noise_multiplier = 4.0 }}
[aggregation]
guard = {guard}
[limits]
device_per_minute = 100000
address_per_minute = 100000
[operations]
metrics_port = 0
dashboard = false
"""


def made(folder: Path, *, guard: bool) -> tuple[Installation, ServerProcess, list[Device]]:
    """The group with its members, not served yet."""
    port = free_port()
    (folder / "server.toml").write_text(SETTINGS.format(port=port, guard=str(guard).lower()), encoding="utf-8")
    installation = setup.make(folder, name="attacked", start=setup.shipped_start(), now=int(time.time()))
    devices = [Device.of(number) for number in range(N)]
    with writing(installation.engine) as connection:
        connection.execute(insert(members), [
            {"device": one.name, "device_key": one.identity.public, "joined": int(time.time())} for one in devices
        ])  # fmt: skip
    return installation, ServerProcess(folder, port), devices


def sent(
    theta: FloatVector, name: str, target: FloatVector, number: int, streams: list[np.random.Generator]
) -> FloatMatrix:
    """What all members report in round `number`, `[N, n_params]`: the honest ones noise alone, the attackers last."""
    method, attack = plans()["former"].method, ATTACKS[name]
    noise = noise_of(method.privacy)
    assert noise is not None
    model = Model(theta)
    everybody = np.array([method.report(method.begin(model, rng), rng).theta for rng in streams[:N]])
    if attack is None:
        return everybody
    honest = everybody[:-N_MALICIOUS]
    scene = Scene(noise, largest_update(method, theta), honest - theta, target, number, N_MALICIOUS, streams[N])
    return np.vstack([honest, theta + attack(scene)])


async def play(installation: Installation, server: ServerProcess, devices: list[Device], name: str,
               target: FloatVector, n_rounds: int, seed: int) -> tuple[FloatVector, FloatVector]:  # fmt: skip
    """The rankers `[n_params]` before and after."""
    connection, key = Connection(server.port), installation.vault.identity.public
    streams = [np.random.default_rng([seed, number]) for number in range(N + 1)]
    told, first = await present_round(connection, key, devices[0])
    theta = first
    for number in range(1, n_rounds + 1):
        for device, row in zip(devices, sent(theta, name, target, number, streams), strict=True):
            status, body = await connection.ask(device.request("POST", "/v1/updates", sealed_update(told, row, device)))
            assert status == 200, body
        told, theta = await present_round(connection, key, devices[0])
        assert told.round == number + 1, "the round did not close with its last update"
    connection.close()
    return first, theta


def alarms(installation: Installation) -> int:
    """Closed rounds whose verdict says so."""
    with reading(installation.engine) as connection:
        return sum(row.verdict == "alert" for row in connection.execute(select(rounds.c.verdict)))


def attacked(known: World, name: str, n_rounds: int, seed: int, *, guard: bool) -> None:
    """Play it, and print what came of it."""
    target = direction(known, plans()["former"], N)
    with tempfile.TemporaryDirectory(prefix="foltr-attacked-") as folder:
        installation, server, devices = made(Path(folder), guard=guard)
        server.start()
        try:
            first, last = asyncio.run(play(installation, server, devices, name, target, n_rounds, seed))
        finally:
            server.stop()
        print(
            f"{name}, seed {seed}, {n_rounds} rounds, guard {'on' if guard else 'off'}: nDCG@10 "
            f"{known.ndcg(first):.3f} before, {known.ndcg(last):.3f} after; {alarms(installation)} rounds with alarm",
            flush=True,
        )
        installation.engine.dispose()


def main() -> None:
    """Print a line."""
    wanted = arguments(
        __doc__, attack=Option(["none", "steady .9"], choices=tuple(ATTACKS)), rounds=30, seeds=3, no_guard=False
    )
    known = world()
    print(machine())
    for seed in range(wanted.seeds):
        for name in wanted.attack:
            attacked(known, name, wanted.rounds, seed, guard=not wanted.no_guard)
