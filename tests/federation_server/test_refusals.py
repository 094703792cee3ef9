"""Every refusal has its own code, status, sentence and counter."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec
import numpy as np
import requests

from app.federation.transport import BUSY
from federation_server.database import writing
from federation_server.group import enrolment
from federation_server.group.signed_requests import CLOCK_SECONDS
from federation_server.refusals import REASONS
from foltr.federated.envelope import box_public
from foltr.federated.sealed import roster
from foltr.federated.wire import DepotChange, DepotRequest, Farewell, Refusal, Sealed, decode, encode
from tests.federation_server.client import (
    Client,
    Running,
    guessed,
    invite,
    sealed,
    update_record,
)


def refusals(live: Running, ada: Client) -> Iterator[tuple[str, requests.Response]]:
    """Each reason with a request that earns it."""
    told, theta = ada.announcement(), ada.theta()
    good = update_record(told, theta, ada.device)

    def post(inner: object = good, **outside: object) -> requests.Response:
        record = inner if isinstance(inner, Sealed) else sealed(told, inner)  # type: ignore[arg-type]
        return ada.send("POST", "/v1/updates", encode(msgspec.structs.replace(record, **outside)))

    def but(**inside: object) -> requests.Response:
        return post(msgspec.structs.replace(good, **inside))

    payload = good.payload
    yield "malformed", ada.send("POST", "/v1/updates", b"{}")
    yield "malformed", ada.send("POST", "/v1/members", b"[1]")
    yield "malformed", ada.send("POST", "/v1/farewell", b"\xff")
    yield "unsigned", ada.send("GET", "/v1/round", headers={})
    yield "unknown-device", Client(ada.address).send("GET", "/v1/round")
    for late in (-CLOCK_SECONDS - 5, CLOCK_SECONDS + 5):
        headers = ada.headers("GET", "/v1/round", at=int(time.time()) + late)
        yield "clock", ada.send("GET", "/v1/round", headers=headers)
    yield "bad-invite", Client(ada.address).join(guessed("no such invite"))
    stranger = Client(ada.address)
    theirs = encode(roster.enrolment("group", "t", stranger.identity, box_public(stranger.box)))
    yield "bad-signature", ada.send("POST", "/v1/members", theirs)
    yield "stale-round", post(round=told.round + 1)
    yield "wrong-lineage", post(lineage=told.lineage + 1)
    yield "stale-round", but(round=told.round + 1)
    yield "wrong-model", but(model_hash="0" * 64)
    yield "wrong-manifest", but(manifest_hash="other")
    yield "wrong-group", but(group_id="other")
    yield "wrong-device", but(device="0" * 32)
    yield "wrong-group", ada.send("POST", "/v1/farewell", encode(Farewell(group_id="other", forget=True)))
    yield "sealed-wrongly", post(box=b"0" * 100)
    yield "wrong-length", but(payload=payload[:-8])
    yield "not-finite", but(payload=payload[:-8] + np.array([np.nan]).tobytes())
    yield "over-norm", but(payload=payload[:-8] + np.array([1e9]).tobytes())
    yield "malformed", post(sealed(told, Farewell(group_id="g", forget=False)))
    yield "too-large", ada.send("POST", "/v1/updates", b"x" * 100_000)
    assert post().status_code == 200
    yield "already-reported", but(payload=payload[:-8] + np.array([0.5]).tobytes())
    yield "not-found", ada.send("GET", "/v1/models/" + "0" * 64)
    yield "not-found", ada.send("GET", "/v1/models/%00")
    yield "not-found", ada.send("GET", "/v1/receipts/%00", headers={})
    yield "not-found", ada.send("GET", "/v1/receipts/" + "0" * 32, headers={})
    yield "not-found", ada.send("GET", "/v1/round/")
    yield "not-found", ada.send("GET", "/elsewhere")
    yield "wrong-verb", ada.send("PUT", "/v1/round")
    yield from depot_refusals(live, ada)
    with writing(live.made.engine) as connection:
        enrolment.end_membership(connection, ada.device, now=int(time.time()))
    yield "revoked", ada.send("GET", "/v1/round")
    yield "revoked", post()
    yield "bad-invite", ada.join(invite(live.made))


def depot_refusals(live: Running, ada: Client) -> Iterator[tuple[str, requests.Response]]:
    """Those of what a member's computers exchange."""
    key, next_key = Client(ada.address), Client(ada.address)
    asked = DepotRequest(group_id=live.invite().group_id, depot_key=key.identity.public)
    yield "no-depot", key.send("GET", "/v1/depot")
    assert ada.send("POST", "/v1/depots", encode(asked)).status_code == 200
    other = msgspec.structs.replace(asked, depot_key=next_key.identity.public)
    yield "other-depot", ada.send("POST", "/v1/depots", encode(other))
    for n in range(8):
        full = key.send("POST", "/v1/depot", encode(DepotChange(name=f"{n:032x}", content=bytes(4 << 20))))
    assert full.status_code == 200
    yield "depot-full", key.send("POST", "/v1/depot", encode(DepotChange(name=f"{9:032x}", content=bytes(4096))))
    replaced = key.send("POST", "/v1/depot", encode(DepotChange(successor=next_key.identity.public)))
    assert replaced.status_code == 200
    yield "former-key", key.send("POST", "/v1/depot", encode(DepotChange()))


def test_every_refusal_has_its_code_status_sentence_and_counter(live: Running, ada: Client) -> None:
    """Each answer is a Refusal of the announced status, and its counter rises by one."""
    counts = {name: live.refused(name) for name in REASONS}
    seen = set()
    for wanted, answer in refusals(live, ada):
        refusal = decode(answer.content, Refusal)
        assert (refusal.reason, answer.status_code) == (wanted, REASONS[wanted][0]), (wanted, answer.text)
        assert refusal.message.startswith(REASONS[wanted][1])
        counts[wanted] += 1
        assert live.refused(wanted) == counts[wanted], wanted
        seen.add(wanted)
    # The others have tests of their own: replays, floods, slow bodies, a database that is away, a full disk, the
    # dashboard's, and those of sealed groups (test_sealed_rounds) and restored servers (test_restored_server).
    sealed = {
        "wrong-mode",
        "wrong-phase",
        "wrong-shares",
        "wrong-list",
        "wrong-complaint",
        "wrong-proof",
        "false-answer",
        "needed",
        "not-in-roster",
        "wrong-roster",
        "bad-vouching",
        "wrong-ranker",
        "gone-on",
    }
    assert set(REASONS) - seen == {"replayed", "too-many", "too-slow", "unavailable", "disk-full"} | sealed


def test_a_device_tries_later_where_waiting_helps_and_nowhere_else() -> None:
    """What means "later" to devices and proxies (408, 429, 5xx) is a flood, a slow line or a fault of the server."""
    later = {name for name, (status, _) in REASONS.items() if status in (408, 425, 429) or status >= 500}
    assert later == {"too-many", "too-slow", "disk-full", "unavailable"}
    assert {name for name, (status, _) in REASONS.items() if status in BUSY} == later - {"too-slow"}
