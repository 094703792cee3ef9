"""What sealed rounds cost the server, and how long their messages are: a group of the default terms, over loopback.

    python -m benchmarks federation_sealed [--members 5 10 30] [--rounds 4]

Members join by invites, vouch, share, prove, add up and answer as devices do; one request at a time. Seconds are of the
server's processor while it takes the messages of whole rounds, including the message after which it fixes the list
and the answer after which it adds up and closes. A device's seconds are those of making its message
(without the first of a round, in which the generators are made); a committee member's are those of checking all boxes
and adding up. The last column is the whole round on all machines, including whatever the server does meanwhile.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import requests

from benchmarks.federation_devices import Device, ServerProcess, free_port
from benchmarks.running import arguments
from benchmarks.tables import Table, machine
from federation_server import setup
from federation_server.group.group import gaussian_of, method_of
from foltr.federated.envelope import box_public, new_box_key, open_document
from foltr.federated.links import from_link
from foltr.federated.sealed import roster as chain
from foltr.federated.sealed.committee import Cohort, cohort_of
from foltr.federated.sealed.complaints import left_out
from foltr.federated.sealed.roster import INVITE
from foltr.federated.sealed.sums import Occasion, answer, draft_update, noise_commitment, opened_shares, prove_update
from foltr.federated.wire import (
    Announcement,
    Coins,
    InviteOffer,
    Record,
    RosterPage,
    SharedUpdate,
    ShareList,
    Signed,
    SumTask,
    decode,
    encode,
)

SETTINGS = """
[server]
port = {port}
[rounds]
in_period = 0
[limits]
device_per_minute = 1000000000
address_per_minute = 1000000000
joins_per_hour = 1000000000
[operations]
metrics_port = 0
dashboard = false
"""
CLOSED = 409
"""the round was over before the last of the committee had answered"""
PATIENCE = 60.0
"""seconds for one answer"""


@dataclass(slots=True, eq=False)
class Member:
    """A device that speaks to one server."""

    device: Device
    port: int
    session: requests.Session
    box: bytes = field(default_factory=new_box_key)

    def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The body of an answer; requests.HTTPError for a refusal."""
        head = self.device.request(method, path, body).split(b"\r\n\r\n", 1)[0].decode().split("\r\n")[1:]
        headers = dict(line.split(": ", 1) for line in head if line.startswith("Foltr-"))
        address = f"http://127.0.0.1:{self.port}{path}"
        found = self.session.request(method, address, data=body, headers=headers, timeout=PATIENCE)
        found.raise_for_status()
        return found.content

    def join(self, token: str, group_id: str) -> None:
        """By an invite's secret."""
        asked = chain.enrolment(group_id, token, self.device.identity, box_public(self.box))
        self.ask("POST", "/v1/members", encode(asked))

    def invite(self, token: str, group_id: str) -> None:
        """Whoever holds this secret."""
        key = chain.invite_identity(token).public
        signature = self.device.identity.sign(INVITE, chain.invite_text(group_id, key))
        self.ask("POST", "/v1/invites", encode(InviteOffer(group_id=group_id, invite_key=key, signature=signature)))


@dataclass(slots=True, eq=False)
class Cost:
    """Of one kind of message."""

    sizes: list[int] = field(default_factory=list)
    cpu: float = 0.0

    def cells(self) -> list[str]:
        return [f"{np.mean(self.sizes) / 1024:.1f}", f"{self.cpu / len(self.sizes) * 1000:.1f}"]


def members(link: str, server: ServerProcess, n: int) -> list[Member]:
    """A founder by the operator's invite, who invites the others."""
    session, invite = requests.Session(), from_link(link)
    people = [Member(Device.of(number), server.port, session) for number in range(n)]
    people[0].join(invite.token, invite.group_id)
    for one in people[1:]:
        token = secrets.token_hex(8)
        people[0].invite(token, invite.group_id)
        one.join(token, invite.group_id)
    return people


def announced(people: list[Member], server_key: bytes) -> tuple[Announcement, Cohort]:
    """The round, and who is in it."""
    told = open_document(server_key, decode(people[0].ask("GET", "/v1/round"), Signed), "announcement", Announcement)
    entries: list[bytes | Record] = []
    state = chain.empty_roster(told.terms.group_id)
    while len(entries) < told.roster_number:
        signed = decode(people[0].ask("GET", f"/v1/roster?after={len(entries)}"), Signed)
        page = open_document(server_key, signed, "roster", RosterPage)
        wanted = page.entries[: told.roster_number - len(entries)]
        state = chain.extend_roster(state, wanted)
        entries.extend(wanted)
    return told, cohort_of(state, "sealed")


def send(server: ServerProcess, cost: Cost, path: str, messages: list[tuple[Member, Record]]) -> None:
    """One after another, until the server has enough."""
    bodies = [(one, encode(record)) for one, record in messages]
    before = server.cpu_seconds()
    for one, body in bodies:
        try:
            one.ask("POST", path, body)
        except requests.HTTPError as refused:
            if refused.response is None or refused.response.status_code != CLOSED:
                raise
            break
        cost.sizes.append(len(body))
    cost.cpu += server.cpu_seconds() - before


def note(one: Member, occasion: Occasion, cost: Cost, rng: np.random.Generator) -> SharedUpdate:
    """A member's message, with its proof."""
    began = time.process_time()
    draft = draft_update(occasion, rng.normal(size=occasion.n_numbers), rng)
    committed = noise_commitment(occasion, draft, one.device.name)
    seed = decode(one.ask("POST", "/v1/noise", encode(committed)), Coins).seed
    made = prove_update(occasion, draft, seed, one.device.identity, one.device.name, rng)
    cost.cpu += time.process_time() - began
    cost.sizes.append(len(made.proof))
    return made


def play(people: list[Member], server: ServerProcess, server_key: bytes, costs: dict[str, Cost]) -> Cohort:
    """One round, in which nobody is missing."""
    told, cohort = announced(people, server_key)
    privacy = gaussian_of(method_of(told.terms))
    occasion = Occasion(told.terms.group_id, told.lineage, told.round, told.model_hash, cohort,
                        len(told.terms.settings["shared"]), privacy)  # fmt: skip
    rng, messages = np.random.default_rng(told.round), list[tuple[Member, Record]]()
    for one in people:
        messages.append((one, note(one, occasion, costs["note"], rng)))
    send(server, costs["shares"], "/v1/shares", messages)
    named = {one.device.name: one for one in people}
    answers = list[tuple[Member, Record]]()
    for seat in cohort.committee:
        one, name = named[seat.device], seat.device
        body = one.ask("GET", "/v1/list")
        costs["list"].sizes.append(len(body))
        began = time.process_time()
        task = decode(body, SumTask)
        listed = open_document(server_key, task.signed_list, "list", ShareList)
        out = left_out(occasion, task, listed)
        found = opened_shares(occasion, task, listed, name, one.box, without=out)
        answers.append((one, answer(occasion, listed, one.device.identity, name, found, out)))
        costs["list"].cpu += time.process_time() - began
    send(server, costs["answers"], "/v1/answers", answers)
    return cohort


def measured(n: int, n_rounds: int) -> list[object]:
    """A row of the table."""
    with tempfile.TemporaryDirectory(prefix="foltr-sealed-") as name:
        folder, port = Path(name), free_port()
        (folder / "server.toml").write_text(SETTINGS.format(port=port), encoding="utf-8")
        made = setup.make(folder, name="sealed", start=setup.shipped_start(), now=int(time.time()))
        link = setup.invitation(made, note="", seconds=3600, now=int(time.time()))
        server, costs = ServerProcess(folder, port), {kind: Cost() for kind in ("note", "shares", "list", "answers")}
        server.start()
        try:
            people, before = members(link, server, n), server.cpu_seconds()
            cohorts = [play(people, server, made.vault.identity.public, costs) for _ in range(n_rounds)]
            serving = server.cpu_seconds() - before
        finally:
            server.stop()
            made.engine.dispose()
    last = cohorts[-1]
    assert len(last.members) == n
    total = (serving + costs["note"].cpu + costs["list"].cpu) / n_rounds
    kinds = (cell for kind in ("note", "shares", "list", "answers") for cell in costs[kind].cells())
    return [n, len(last.committee), *kinds, f"{total:.1f}"]


def main() -> None:
    """Print the table."""
    wanted = arguments(__doc__, members=[5, 10, 30], rounds=4)
    table = Table(("members", "committee", "a proof, KiB", "device CPU, ms", "a shared update, KiB", "server CPU, ms",
                   "what a member of the committee reads, KiB", "its CPU, ms", "its answer, KiB", "server CPU, ms",
                   "a round on all machines, CPU s"))  # fmt: skip
    for n in wanted.members:
        table.add(*measured(n, wanted.rounds))
    print(machine(), table, sep="\n\n")
