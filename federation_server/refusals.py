"""Why the server refuses a request: a code that programs know, an HTTP status, a sentence for a person.

Every refusal has its own code and its own counter (federation_server.running.monitoring), so that an operator sees
whether devices have wrong clocks, replay, or send garbage.
"""

from __future__ import annotations

from foltr.errors import FoltrError

REASONS: dict[str, tuple[int, str]] = {
    "malformed": (400, "the body is not valid at this address"),
    "unsigned": (401, "the request has no signature, time or nonce"),
    "bad-signature": (401, "the signature does not fit the request"),
    "unknown-device": (401, "this device is not a member"),
    "revoked": (403, "this device's membership was ended"),
    "clock": (401, "the device's clock and the server's are more than five minutes apart"),
    "replayed": (409, "this request was sent before"),
    "bad-invite": (403, "the invite is unknown, used, expired or revoked"),
    "stale-round": (409, "the round is over or not yet open; fetch the announcement again"),
    "wrong-lineage": (409, "the group began a new lineage; fetch the announcement again"),
    "wrong-model": (409, "the update does not begin from the announced model"),
    "wrong-manifest": (409, "the update is for other features than the group's"),
    "wrong-device": (403, "the update was sealed by another device"),
    "wrong-group": (409, "the update is for another group"),
    "sealed-wrongly": (400, "the update was not sealed to this round's key"),
    "wrong-length": (400, "the update has another number of parameters than the group's ranker"),
    "not-finite": (400, "the update has a number that is not finite"),
    "over-norm": (400, "the update is longer than the group's privacy mechanism can make it"),
    "already-reported": (409, "this device has reported another update in this round"),
    "wrong-mode": (409, "the group's mode has no such messages"),
    "wrong-phase": (409, "the round is in another phase; fetch the announcement again"),
    "wrong-shares": (400, "the message contradicts itself"),
    "wrong-proof": (400, "the note's proof is not valid"),
    "wrong-list": (409, "the answer adds up another list than the round's"),
    "wrong-complaint": (400, "the complaint is not valid"),
    "false-answer": (400, "the answer is not the sum of this member's shares"),
    "needed": (409, "the others' notes would be lost without this device"),
    "not-in-roster": (403, "this device takes no part in this"),
    "wrong-roster": (409, "these entries do not continue the group's roster"),
    "wrong-ranker": (400, "this is not a ranker of the group that this server signed"),
    "gone-on": (409, "the group has learned on since the restore, without this ranker"),
    "bad-vouching": (400, "the signature for a member is not valid"),
    "no-depot": (404, "the server keeps no files under this key"),
    "other-depot": (409, "the server keeps files for this member under another key"),
    "former-key": (403, "a new key has replaced this one"),
    "depot-full": (409, "the server stores no more files for this member"),
    "too-large": (413, "the body is larger than the server takes"),
    "too-slow": (408, "the body did not arrive in time"),
    "too-many": (429, "too many requests; wait and try again"),
    "not-found": (404, "there is nothing at this address"),
    "wrong-verb": (405, "this address does not allow that method"),
    "disk-full": (503, "the server's disk is full, and nothing of this was kept"),
    "unavailable": (503, "the server is starting, stopping, or cannot reach its database"),
}
"""code -> (HTTP status, sentence)"""


class Refused(FoltrError):
    """A request that the server does not fulfil; `reason` is a key of REASONS, `wait` seconds until another try."""

    def __init__(self, reason: str, detail: str = "", *, wait: int = 5) -> None:
        status, sentence = REASONS[reason]
        super().__init__(f"{sentence}: {detail}" if detail else sentence)
        self.reason = reason
        self.status = status
        self.wait = wait
