"""A group under faults: the server is killed, answers get lost, requests arrive twice, clocks are wrong, members lie.

    python -m benchmarks federation_faults [--rounds 50] [--kills 20] [--seed 1]

Twenty devices speak to one server process through a proxy that drops or doubles every tenth exchange. Two of them send
garbage, two have clocks that are four minutes wrong, one has a clock that is an hour wrong and is refused. At random
moments the server gets a SIGKILL and is started again. Afterwards the run is recomputed: from the updates that are
in the database, made again from each device's seed, the server's rule must give exactly the same models, bit for bit;
every acknowledged update must be among them, none twice, and none of a liar.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from sqlalchemy import select

from benchmarks.federation_devices import Connection, Device, ServerProcess, make_server, present_round
from benchmarks.federation_devices import sealed_update as seal
from benchmarks.running import arguments
from federation_server.database import reading
from federation_server.group import group
from federation_server.rounds.rounds import policy_of
from federation_server.serve import Installation
from federation_server.tables import rounds, updates
from foltr.arrays import FloatVector
from foltr.errors import RecordError
from foltr.federated.guard import GuardState, RunningSums
from foltr.federated.joining import join
from foltr.federated.wire import Farewell, Refusal, Sealed, decode, encode


def garbage(device: Device, victim: Device, rng: np.random.Generator) -> Iterator[bytes]:
    """Whole HTTP requests without end, of one kind after the other."""
    for number in count(1):
        path = "/v1/updates"
        for body in (
            rng.bytes(500),
            b"[" * 5_000,
            b"{}",
            b'{"round":1e400,"lineage":1,"box":"AAAA"}',
            encode(Sealed(round=number, lineage=1, box=rng.bytes(1800))),
            encode(Sealed(round=-number, lineage=1 << 62, box=b"")),
            encode(Farewell(group_id="another group", forget=True)),
            b"x" * 50_000,
        ):
            yield device.request("POST", path, body)
        yield device.request("POST", "/v1/farewell", encode(Farewell(group_id="another group", forget=True)))
        yield device.request("GET", "/v1/models/" + secrets.token_hex(32))
        yield _in_the_name_of(victim, device.request("GET", "/v1/round"), device)
        yield device.request("POST", path, b"{}").replace(b"Foltr-Nonce: ", b"Foltr-Nonce: \xff\xfe")
        yield b"POST /v1/updates HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n0123456789"
        yield msgspec.json.encode({"this": "is no HTTP at all"}) + b"\r\n\r\n"


def _in_the_name_of(victim: Device, request: bytes, device: Device) -> bytes:
    """Signed with the wrong key."""
    return request.replace(device.name.encode(), victim.name.encode())


N_DEVICES, N_LIARS, N_SKEWED = 20, 2, 2
QUORUM = N_DEVICES - N_LIARS - 1
SKEW, TOO_MUCH_SKEW = 240, 3600
FAULTY = 0.1
"""of the exchanges each are dropped and doubled"""
PAUSE = 0.15


@dataclass(slots=True, eq=False)
class Run:
    """What happens, as the devices see it."""

    server_key: bytes
    port: int
    """of the proxy"""
    n_rounds: int
    chance: random.Random
    acknowledged: list[tuple[str, int]] = field(default_factory=list)
    """(device, round) of each acknowledgement"""
    answers: Counter[str] = field(default_factory=Counter)
    round: int = 1
    """the newest that any device has seen"""

    @property
    def over(self) -> bool:
        return self.round > self.n_rounds


async def proxy(server_port: int, run: Run) -> asyncio.Server:
    """Passes requests on; drops some answers with their connection, and sends some requests twice."""

    async def pass_on(request: bytes) -> bytes:
        chance = run.chance.random()
        answer = await _forward(server_port, request)
        if chance < FAULTY:
            run.answers["(dropped)"] += 1
            return b""
        if chance < 2 * FAULTY:
            run.answers["(doubled)"] += 1
            return run.chance.choice([answer, await _forward(server_port, request)])
        return answer

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while answer := await pass_on(await _message(reader)):
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the device sees a broken connection, as with a dead server
        finally:
            writer.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0)


async def _forward(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await _message(reader)
    finally:
        writer.close()


async def _message(reader: asyncio.StreamReader) -> bytes:
    """A whole HTTP request or answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = head.lower().split(b"content-length:", 1)
    length = int(fields[1].split(b"\r\n", 1)[0]) if len(fields) == 2 else 0
    return head + await reader.readexactly(length)


def theta_of(start: FloatVector, number: int, round: int) -> FloatVector:
    """What device `number` reports in a round, `[n_params]`."""
    return start + np.random.default_rng([number, round]).normal(scale=0.05, size=len(start))


async def honest(run: Run, device: Device, number: int, skew: int) -> None:
    """Report in each round until it is acknowledged or over."""
    door = Connection(run.port)
    while not run.over:
        try:
            told, start = await present_round(door, run.server_key, device, skew=skew)
        except (OSError, asyncio.IncompleteReadError, RecordError):
            await asyncio.sleep(PAUSE)
            continue
        run.round = max(run.round, told.round)
        body = seal(told, theta_of(start, number, told.round), device)
        while not run.over and (device.name, told.round) not in run.acknowledged:
            try:
                request = device.request("POST", "/v1/updates", body, skew=skew)
                status, answer = await door.ask(request)
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(PAUSE)
                continue
            if status == 200:
                run.acknowledged.append((device.name, told.round))
            else:
                refusal = decode(answer, Refusal).reason
                run.answers[refusal] += 1
                if refusal == "stale-round":
                    break
        await asyncio.sleep(PAUSE)


async def refused(run: Run, device: Device) -> None:
    """A device whose clock is an hour wrong."""
    await _insist(run, lambda: device.request("GET", "/v1/round", skew=TOO_MUCH_SKEW))


async def liar(run: Run, device: Device, victim: Device) -> None:
    """A member that sends whatever might do harm."""
    kinds = garbage(device, victim, np.random.default_rng(run.chance.getrandbits(32)))
    await _insist(run, lambda: next(kinds))


async def _insist(run: Run, request: Callable[[], bytes]) -> None:
    door = Connection(run.port)
    while not run.over:
        try:
            status, answer = await door.ask(request())
            kind = (
                "(garbage taken)" if status == 200 else "(failed)" if status == 500 else decode(answer, Refusal).reason
            )
            run.answers[kind] += 1
        except (OSError, asyncio.IncompleteReadError, RecordError, ValueError):
            run.answers["(no answer)"] += 1
        await asyncio.sleep(PAUSE)


async def kill_now_and_then(run: Run, server: ServerProcess, n_kills: int) -> int:
    """SIGKILL at random moments of randomly chosen rounds; how often."""
    chosen = sorted(run.chance.sample(range(1, run.n_rounds + 1), n_kills))
    for n_before, number in enumerate(chosen):
        while run.round < number:
            if run.over:
                return n_before
            await asyncio.sleep(0.01)
        await asyncio.sleep(run.chance.uniform(0.0, 0.5))
        server.kill()
        await asyncio.to_thread(server.start)
    return n_kills


async def play(made: Installation, server: ServerProcess, devices: list[Device], run: Run, n_kills: int) -> int:
    """The whole run; how often the server was killed."""
    between = await proxy(server.port, run)
    run.port = between.sockets[0].getsockname()[1]
    liars, slow, rest = devices[:N_LIARS], devices[N_LIARS], devices[N_LIARS + 1 :]
    work = [liar(run, device, rest[0]) for device in liars] + [refused(run, slow)]
    for number, device in enumerate(rest):
        skew = (SKEW, -SKEW)[number % 2] if number < N_SKEWED else 0
        work.append(honest(run, device, number, skew))
    killing = asyncio.create_task(kill_now_and_then(run, server, n_kills))
    await asyncio.gather(*work)
    between.close()
    return await killing


def repeated(made: Installation, run: Run, devices: list[Device]) -> dict[str, bool]:
    """The run again without a fault, from the list of stored updates; what holds."""
    numbers = {device.name: number for number, device in enumerate(devices[N_LIARS + 1 :])}
    state, sums = GuardState(), dict[str, Any]()
    with reading(made.engine) as connection:
        noise = group.method_of(group.terms(connection)).joining.noise  # by which the guard goes, as members agreed
        rows = connection.execute(select(updates.c.round, updates.c.device)).all()
        counted = {row.round: row.n_updates for row in connection.execute(select(rounds.c.round, rounds.c.n_updates))}
        stored = [group.at(connection, 1, number) for number in range(run.n_rounds + 1)]
    present = {number: sorted(row.device for row in rows if row.round == number) for number in counted}
    joining = msgspec.structs.replace(policy_of(made.settings).joining, noise=noise)
    same, model = [], stored[0].model if stored[0] else None
    for number in range(1, run.n_rounds + 1):
        expected = stored[number]
        assert model is not None
        assert expected is not None
        names = [name for name in present[number] if name in numbers]
        thetas = np.array([theta_of(model.theta, numbers[name], number) for name in names])
        state = structs.replace(state, sums=remembered(sums, names, thetas.shape[1]))
        again = join(joining, replace(model, guard=state), thetas, np.ones(len(thetas))).model
        state = again.guard
        if state.sums is not None:
            rows_of = zip(state.sums.n_rounds, state.sums.sent, state.sums.counted, strict=True)
            sums |= zip(names, rows_of, strict=True)
        same.append(again.theta.tobytes() == expected.model.theta.tobytes())
        model = expected.model
    kept = {(row.device, row.round) for row in rows}
    return {
        "every model equals the fault-free one bit for bit": all(same),
        "every acknowledged update is stored": set(run.acknowledged) <= kept,
        "none is stored or counted twice": all(counted[r] == len(set(present[r])) == len(present[r]) for r in counted),
        "none is a liar's": all(device in numbers for device, _ in kept),
        "no garbage was taken": "(garbage taken)" not in run.answers,
        "the server never failed on it": "(failed)" not in run.answers,
    }


def remembered(sums: dict[str, Any], names: list[str], d: int) -> RunningSums:
    """What the guard remembers of these members, in their order."""
    found = RunningSums.none(len(names), d)
    for row, name in enumerate(names):
        if name in sums:
            found.n_rounds[row], found.sent[row], found.counted[row] = sums[name]
    return found


def main() -> int:
    """Exit code 1 when something does not hold."""
    options = arguments(__doc__, rounds=50, kills=20, seed=1)
    with tempfile.TemporaryDirectory(prefix="foltr-faults-") as folder:
        made, server, devices = make_server(Path(folder) / "server", n_devices=N_DEVICES, quorum=QUORUM)
        run = Run(made.vault.identity.public, 0, options.rounds, random.Random(options.seed))
        began = time.monotonic()
        server.start()
        try:
            kills = asyncio.run(play(made, server, devices, run, options.kills))
        finally:
            server.stop()
        held = repeated(made, run, devices)
        made.engine.dispose()
        print(
            f"{options.rounds} rounds, {kills} kills, {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}"
        )
        kept = options.rounds * QUORUM
        print(f"{kept} updates counted, {len(run.acknowledged)} of them acknowledged before their round was over")
        print("answers: " + ", ".join(f"{name} {count}" for name, count in sorted(run.answers.items())))
    for text, good in held.items():
        print(f"{'yes' if good else 'NO '} {text}")
    return 0 if all(held.values()) and kills == options.kills else 1
