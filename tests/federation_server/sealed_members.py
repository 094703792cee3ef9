"""Members of a sealed group over the wire, for the server's tests: what a device does, in a few lines."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import requests

from federation_server.serve import Installation, open_installation
from foltr.arrays import FloatVector, Int64Vector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.registry import make_method
from foltr.federated.sealed import roster as chain
from foltr.federated.sealed.boxes import box_hashes, sealed_boxes
from foltr.federated.sealed.committee import cohort_of
from foltr.federated.sealed.complaints import complaint, left_out
from foltr.federated.sealed.note_proof import drawn_noise
from foltr.federated.sealed.points import cut
from foltr.federated.sealed.roster import INVITE, LEAVE, VOUCH, Roster
from foltr.federated.sealed.sums import (
    SHARES,
    Draft,
    Occasion,
    answer,
    noise_commitment,
    note_of,
    opened_shares,
    prove_update,
    signed_text,
)
from foltr.federated.wire import (
    Announcement,
    Coins,
    CommitteeAnswer,
    Complaint,
    Invite,
    InviteOffer,
    RosterPage,
    SharedUpdate,
    ShareList,
    SumTask,
    Vouching,
    decode,
    encode,
)
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import make_ranker
from tests.federation_server.client import Client, invite, make_server, opened, running

TWO_WEIGHTS = 'shared = ["recent_week", "newer"]'
"""of a sealed group, otherwise of the default terms: each number that is sent costs its members as much as the next"""


def make_sealed(
    folder: Path, *, database: str = "sqlite:///group.sqlite", mode: str = "sealed", terms: str = TWO_WEIGHTS
) -> Installation:
    """A sealed group in a folder, of two weights or by other terms, not served yet."""
    return make_server(folder, quorum=0, floor=3, mode=mode, privacy=terms, database=database)


def moved(told: Announcement, theta: FloatVector, senders: Sequence[Client]) -> FloatVector:
    """The ranker after a round from `theta`: the mean of what these members have sent in it, nothing else."""
    method = method_of(told)
    notes = [NOTES[one.device, told.lineage, told.round] for one in senders]
    step = occasion_of(senders[0], told).part.grid_step / len(notes)
    return method.placed(theta, method.sent(theta) + sum(notes) * step)


NOTES: dict[tuple[str, int, int], Int64Vector] = {}
"""what each member has sent, noise included, by its pseudonym, lineage and round"""


STEPS = [np.array(signal) for signal in ((1, 0), (0, 1), (-1, 1), (1, 1), (-1, 0), (0, -1))]
"""signals, in steps of the grid"""


@dataclass(frozen=True, slots=True)
class Begun:
    """A group in the midst of its first round, its server stopped."""

    made: Installation
    people: list[Client]
    told: Announcement
    """before the first note"""
    first: FloatVector
    listed: Announcement
    """after the last"""


def begin(
    folder: Path, database: str = "sqlite:///group.sqlite", *, n: int = 5, n_notes: int = 5, n_answers: int = 0
) -> Begun:
    made = make_sealed(folder, database=database)
    with running(made):
        people = members(made, n)
        told, first = people[0].announcement(), people[0].theta()
        listed = all_share(people[:n_notes], told)
        all_answer(people[:n_answers], listed)
    return Begun(made, people, told, first, listed)


def copied(begun: Begun, folder: Path) -> Begun:
    shutil.copytree(begun.made.folder, folder)
    return replace(begun, made=open_installation(folder / "server.toml"))


def roster_of(client: Client, number: int | None = None) -> Roster:
    """As this client verifies it, whole or up to `number` entries."""
    state, entries = None, []
    while state is None or len(entries) < state:
        page = decode(opened(client.send("GET", f"/v1/roster?after={len(entries)}")).body, RosterPage)
        state = page.number
        entries.extend(page.entries)
    return chain.extend_roster(chain.empty_roster(page.group_id), entries[:number])


def offer(client: Client, token: str, group_id: str) -> requests.Response:
    """The client invites whoever holds this secret."""
    key = chain.invite_identity(token).public
    signature = client.identity.sign(INVITE, chain.invite_text(group_id, key))
    asked = InviteOffer(group_id=group_id, invite_key=key, signature=signature)
    return client.send("POST", "/v1/invites", encode(asked))


def invited(client: Client, group_id: str) -> Client:
    """A new member that this one invited."""
    token, fresh = secrets.token_hex(8), Client(client.address)
    assert offer(client, token, group_id).ok
    link = Invite(address=client.address, fingerprint="", token=token, group_id=group_id)
    assert fresh.join(link).ok
    return fresh


def members(made: Installation, n: int) -> list[Client]:
    """A founder by the administrator's invite, who invites the others."""
    founder, link = Client(made.public_address), invite(made)
    assert founder.join(link).ok
    return [founder, *(invited(founder, link.group_id) for _ in range(n - 1))]


def vouch(client: Client, about: Client, *, leaves: bool = False) -> requests.Response:
    """The client signs for another, or that it is gone."""
    state = roster_of(client)
    member = state.of_device(about.device)
    assert member is not None
    text = chain.leave_text(state.group_id, member.number) if leaves else chain.vouch_text(state.group_id, member)
    signature = client.identity.sign(LEAVE if leaves else VOUCH, text)
    asked = Vouching(group_id=state.group_id, about=member.number, leaves=leaves, signature=signature)
    return client.send("POST", "/v1/vouchers", encode(asked))


def method_of(told: Announcement) -> FPDGD:
    agreed = told.terms
    method = make_method(agreed.method, make_ranker(agreed.ranker, agreed.n_features), agreed.settings)
    assert isinstance(method, FPDGD)
    return method


def privacy_of(told: Announcement) -> Gaussian:
    privacy = method_of(told).privacy
    assert isinstance(privacy, Gaussian)
    return privacy


OCCASIONS: dict[tuple[str, int, int, str], Occasion] = {}
"""by roster head, lineage, round and model: the same for every member"""


def occasion_of(client: Client, told: Announcement) -> Occasion:
    """The announced round, its roster verified by whoever asks first."""
    key = told.roster_head, told.lineage, told.round, told.model_hash
    if key not in OCCASIONS:
        OCCASIONS[key] = _verified(client, told)
    return OCCASIONS[key]


def _verified(client: Client, told: Announcement) -> Occasion:
    state = roster_of(client, told.roster_number)
    assert state.head == told.roster_head
    assert told.terms.mode != "open"
    return Occasion(
        group_id=told.terms.group_id,
        lineage=told.lineage,
        round=told.round,
        model_hash=told.model_hash,
        cohort=cohort_of(state, told.terms.mode),
        n_numbers=method_of(told).n_sent,
        privacy=privacy_of(told),
    )


def draft_of(client: Client, told: Announcement, signal: Int64Vector, bits: int = 0) -> tuple[Draft, bytes]:
    """A note of this signal, in steps of the grid, and the seed of its coins: it is committed to."""
    occasion = occasion_of(client, told)
    noise = drawn_noise(occasion.note_terms, np.random.default_rng([int(client.device[:8], 16), bits]))
    draft = Draft(signal, noise, noise.commitment(occasion.note_terms))
    answer = client.send("POST", "/v1/noise", encode(noise_commitment(occasion, draft, client.device)))
    return draft, decode(answer.content, Coins).seed if answer.ok else b""


def message(client: Client, told: Announcement, signal: Int64Vector, point: int = 0) -> SharedUpdate:
    """A note of this signal, proved, in shares; the box for `point`, if that is one, holds another number."""
    (draft, seed), occasion = draft_of(client, told, signal), occasion_of(client, told)
    NOTES[client.device, told.lineage, told.round] = note_of(occasion, draft, seed)
    rng = np.random.default_rng(int(client.device[:8], 16))
    good = prove_update(occasion, draft, seed, client.identity, client.device, rng)
    return forged(occasion, client, good, point) if point else good


def forged(occasion: Occasion, client: Client, good: SharedUpdate, point: int) -> SharedUpdate:
    """The same message, well signed, whose box for this point holds what is no share."""
    context = occasion.context(client.device).encode()
    numbers = [bytes(occasion.share_bytes) for _ in occasion.owners]
    opening, lies = sealed_boxes(context, occasion.owners, numbers, 123, 456)
    boxes = cut(good.boxes, len(lies[0]))
    boxes[point - 1] = lies[point - 1]
    told = {"commitments": good.commitments, "opening": good.opening}
    signature = client.identity.sign(SHARES, signed_text(context.decode(), **told, hashes=box_hashes(boxes)))
    assert opening != good.opening
    return msgspec.structs.replace(good, boxes=b"".join(boxes), signature=signature)


def share(client: Client, told: Announcement, signal: Int64Vector) -> requests.Response:
    """Send the round's update, which is the same for the same client and signal."""
    return client.send("POST", "/v1/shares", encode(message(client, told, signal)))


def the_task(client: Client) -> tuple[SumTask, ShareList]:
    """What the committee is to add up."""
    task = decode(client.send("GET", "/v1/list").content, SumTask)
    return task, decode(task.signed_list.body, ShareList)


def the_answer(client: Client, told: Announcement) -> CommitteeAnswer:
    """What this member of the committee adds up."""
    (task, listed), occasion = the_task(client), occasion_of(client, told)
    out = left_out(occasion, task, listed)
    found = opened_shares(occasion, task, listed, client.device, client.box, without=out)
    return answer(occasion, listed, client.identity, client.device, found, out)


def the_complaint(client: Client, told: Announcement, about: str) -> Complaint:
    """What this member of the committee shows of its box, with or without reason."""
    task, listed = the_task(client)
    box = next(one for one in task.boxes if one.device == about)
    return complaint(occasion_of(client, told), box, listed, client.identity, client.device, client.box)


def send_answer(client: Client, told: Announcement) -> requests.Response:
    return client.send("POST", "/v1/answers", encode(the_answer(client, told)))


def all_share(people: Sequence[Client], told: Announcement) -> Announcement:
    """Each sends its note; what is announced then."""
    for one, steps in zip(people, STEPS, strict=False):
        assert share(one, told, steps).ok
    return people[0].announcement()


def all_answer(people: Sequence[Client], told: Announcement) -> None:
    """Each adds up."""
    for one in people:
        assert send_answer(one, told).ok
