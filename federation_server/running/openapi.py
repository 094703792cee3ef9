"""The OpenAPI description of the addresses, made from the wire records."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec

from foltr.federated import wire

SIGNATURE_HEADERS = {
    "Foltr-Device": "the device's pseudonym",
    "Foltr-Time": "seconds since 1970",
    "Foltr-Nonce": "16 to 64 letters and digits, never used before",
    "Foltr-Signature": "base64 of the Ed25519 signature over method, path, body hash, time and nonce",
}

ADDRESSES: tuple[tuple[str, str, str, type[wire.Record] | None, type[wire.Record], bool], ...] = (
    ("/v1/members", "post", "Become a member with an invite", wire.Enrolment, wire.Signed, True),
    ("/v1/round", "get", "The present round", None, wire.Signed, True),
    ("/v1/models/{hash}", "get", "A published common ranker; `newest` for the newest", None, wire.Signed, True),
    ("/v1/models", "post", "Hand back a ranker that a restored server lacks", wire.RankerReturn, wire.Signed, True),
    ("/v1/updates", "post", "Send the round's update", wire.Sealed, wire.Accepted, True),
    ("/v1/roster", "get", "The members' chain, from entry `after` on", None, wire.Signed, True),
    ("/v1/roster", "post", "Hand back entries that a restored server lacks", wire.RosterReturn, wire.Signed, True),
    ("/v1/invites", "post", "A member invites", wire.InviteOffer, wire.Invited, True),
    ("/v1/vouchers", "post", "A member vouches for another, or takes one off", wire.Vouching, wire.Signed, True),
    (
        "/v1/noise",
        "post",
        "Fix the bits of the round's noise, and hear its coins",
        wire.NoiseCommitment,
        wire.Coins,
        True,
    ),
    ("/v1/shares", "post", "Send the sealed round's update", wire.SharedUpdate, wire.Accepted, True),
    ("/v1/list", "get", "What a member of the committee adds up", None, wire.SumTask, True),
    ("/v1/answers", "post", "Send what was added up", wire.CommitteeAnswer, wire.Accepted, True),
    (
        "/v1/complaints",
        "post",
        "Show that a listed message does not hold together",
        wire.Complaint,
        wire.Accepted,
        True,
    ),
    ("/v1/farewell", "post", "Leave, or leave and be forgotten", wire.Farewell, wire.Signed, True),
    ("/v1/receipts/{request}", "get", "How far a forget-me request is", None, wire.Signed, False),
    ("/v1/log", "get", "The journal after a position (?after=, ?receipt=)", None, wire.Signed, False),
    ("/v1/moved", "get", "Where the server is to be found from now on", None, wire.Signed, False),
)


@cache
def description() -> bytes:
    """The JSON of the description."""
    bodies: set[type[wire.Record]] = {wire.Refusal}
    for _, _, _, body, answer, _ in ADDRESSES:
        bodies |= {answer} if body is None else {body, answer}
    records = sorted(bodies, key=lambda record: record.__name__)
    _, components = msgspec.json.schema_components(records, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for path, verb, summary, body, answer, signed in ADDRESSES:
        paths.setdefault(path, {})[verb] = _operation(path, summary, body, answer, signed)
    info = {"title": "foltr-server", "version": "1", "description": "One common ranker, and nobody's clicks."}
    document = {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": components}}
    return json.dumps(document).encode()


def _operation(
    path: str, summary: str, body: type[wire.Record] | None, answer: type[wire.Record], signed: bool
) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in (SIGNATURE_HEADERS.items() if signed else ())
    ]
    if "{" in path:
        name = path[path.index("{") + 1 : path.index("}")]
        parameters.append({"name": name, "in": "path", "required": True, "schema": {"type": "string"}})
    operation: dict[str, Any] = {
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": _content("done", answer), "default": _content("refused", wire.Refusal)},
    }
    if body is not None:
        operation["requestBody"] = {"required": True} | _content("", body)
        operation["requestBody"].pop("description")
    return operation


def _content(text: str, record: type[wire.Record]) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{record.__name__}"}
    return {"description": text, "content": {"application/json": {"schema": reference}}}
