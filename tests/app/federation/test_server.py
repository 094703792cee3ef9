"""Servers that lie: nothing of what they say is used, and nothing leaves the device for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from app.federation import group_ranker, ledger, membership
from app.federation.failures import Distrusted, FederationError
from app.federation.membership import Membership
from app.federation.server import Connect
from app.federation.transport import Transport
from app.settings import FederationSettings
from federation_server.database import reading
from federation_server.group import group as the_group
from foltr.federated.envelope import Identity, sign_document
from foltr.federated.wire import Announcement, Enrolled, ModelRecord, Record, Signed, decode, encode, encode_vector
from indexer.retrieval.features import NAMES
from tests.app.federation.groups import Group, Person, no_pause

Change = Callable[[bytes], bytes]
Make = Callable[..., Person]
N_FEATURES = len(NAMES)


def altering(path: str, change: Change) -> Connect:
    """A door behind which somebody changes the answers of one address."""

    class Altered(Transport):
        def get(self, asked: str, *, signed: bool = True) -> bytes:
            answer = super().get(asked, signed=signed)
            return change(answer) if asked.startswith(path) else answer

        def post(self, asked: str, body: bytes) -> bytes:
            answer = super().post(asked, body)
            return change(answer) if asked.startswith(path) else answer

    def connect(member: Membership, settings: FederationSettings) -> Transport:
        return Altered(member, msgspec.structs.replace(settings, retries=0), sleep=no_pause)

    return connect


def signed_anew(group: Group, kind: type[Record], **changes: Any) -> Change:
    """The server itself lies: changed fields under its own good signature."""

    def change(answer: bytes) -> bytes:
        signed = decode(answer, Signed)
        record = msgspec.structs.replace(decode(signed.body, kind), **changes)
        return encode(sign_document(group.made.vault.identity, signed.kind, record))

    return change


def expect_refusal(person: Person, said: str) -> None:
    """A sync fails with these words, and spends, sends and adopts nothing."""
    before = group_ranker.load(person.store)
    with pytest.raises(FederationError, match=said):
        person.sync()
    assert ledger.entries(person.store) == ()
    assert group_ranker.load(person.store) == before


def test_a_server_with_another_key_than_the_invites(group: Group, person: Person) -> None:
    """An impostor who signs with a key of its own is found out when joining."""
    impostor = Identity.generate()

    def change(answer: bytes) -> bytes:
        told = decode(decode(answer, Signed).body, Enrolled)
        return encode(sign_document(impostor, "enrolled", msgspec.structs.replace(told, server_key=impostor.public)))

    person.by = altering("/v1/members", change)
    with pytest.raises(Distrusted, match="another identity key"):
        person.join(group)
    known = membership.load(person.store)
    assert known is not None
    assert known.group_id == ""


def with_terms(group: Group, **changes: Any) -> Change:
    """An announcement of other terms under the server's own good signature."""

    def change(answer: bytes) -> bytes:
        told = decode(decode(answer, Signed).body, Announcement)
        return signed_anew(group, Announcement, terms=msgspec.structs.replace(told.terms, **changes))(answer)

    return change


def by_another_key(group: Group) -> Change:
    return lambda answer: encode(
        sign_document(Identity.generate(), "announcement", decode(decode(answer, Signed).body, Announcement))
    )


def tampered(group: Group) -> Change:
    """One byte is another."""

    def change(answer: bytes) -> bytes:
        signed = decode(answer, Signed)
        return encode(msgspec.structs.replace(signed, body=signed.body.replace(b'"n_local":50', b'"n_local":51')))

    return change


def for_another_purpose(group: Group) -> Change:
    return lambda answer: encode(msgspec.structs.replace(decode(answer, Signed), kind="model"))


def of_another_group(group: Group) -> Change:
    return with_terms(group, group_id="other")


def with_less_noise(group: Group) -> Change:
    """From one round to the next."""
    privacy = {"mechanism": "gaussian", "clip": 0.5, "noise_multiplier": 0.1}
    with reading(group.made.engine) as connection:
        settings = the_group.terms(connection).settings
    return with_terms(group, settings={**settings, "privacy": privacy})


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (by_another_key, "not signed by the group's server"),
        (tampered, "not signed by the group's server"),
        (for_another_purpose, "wanted a signed announcement"),
        (of_another_group, "another group"),
        (with_less_noise, "changed the group's terms"),
    ],
)
def test_an_announcement_that_is_not_believed(
    group: Group, person: Person, lie: Callable[[Group], Change], said: str
) -> None:
    """Signed by another key or for another thing, altered, of another group, or of other terms in one lineage."""
    person.join(group)
    person.by = altering("/v1/round", lie(group))
    expect_refusal(person, said)


def test_an_old_announcement_sent_again(group: Group, make_person: Make) -> None:
    """A recorded announcement is refused for its age, and within the clock's window for its round."""
    people = [make_person(), make_person()]
    recorded: list[bytes] = []
    for number, person in enumerate(people):
        person.see_pages(10, seed=number)
        person.join(group)
    victim = people[0]
    victim.by = altering("/v1/round", lambda answer: recorded.append(answer) or answer)  # type: ignore[func-returns-value]
    victim.sync()
    people[1].sync()
    victim.sync()  # has seen round 2
    victim.by = altering("/v1/round", lambda answer: recorded[0])
    with pytest.raises(Distrusted, match="went back from round 2 of lineage 1 to round 1"):
        victim.sync()
    victim.clock = lambda: time.time() + 301
    with pytest.raises((Distrusted, FederationError), match="clock"):
        victim.sync()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"theta": encode_vector(np.zeros(N_FEATURES + 1))}, "sent a model that is not valid|another model"),
        ({"theta": encode_vector(np.full(N_FEATURES, np.nan))}, "not finite"),
        ({"theta": encode_vector(np.full(N_FEATURES, 1e9))}, "a weight or noise beyond"),
        ({"noise": 1e308}, "a weight or noise beyond"),
        ({"noise": -1.0}, "a weight or noise beyond"),
        ({"group_id": "other"}, "another group"),
        ({"lineage": 0}, "an old model"),
        ({"manifest_hash": "other"}, "does not fit its own terms"),
    ],
)
def test_a_ranker_that_cannot_be(group: Group, person: Person, changes: dict[str, Any], said: str) -> None:
    """The newest ranker must be of the group, of now, of the right length, finite and of sane size."""
    person.join(group)
    person.by = altering("/v1/models/newest", signed_anew(group, ModelRecord, **changes))
    before = group_ranker.load(person.store)
    with pytest.raises(Distrusted, match=said):
        person.sync()
    assert group_ranker.load(person.store) == before


@pytest.mark.parametrize("field", ["lineage", "round", "deadline", "opens"])
@pytest.mark.parametrize("number", [1 << 62, 1 << 64])
def test_a_round_that_cannot_be(group: Group, person: Person, field: str, number: int) -> None:
    """A number that no database or calendar holds is one sentence, and nothing of it is kept."""
    person.join(group)
    person.by = altering("/v1/round", signed_anew(group, Announcement, **{field: number}))
    expect_refusal(person, "the server's answer makes no sense")


@pytest.mark.parametrize("changes", [{"n_rounds": -1}, {"n_rounds": 1 << 30}, {"n_local": 0}, {"floor": -1}])
def test_terms_that_cannot_be(group: Group, person: Person, changes: dict[str, int]) -> None:
    """Numbers by which nothing can be counted are refused before anybody is asked to agree to them."""
    person.join(group)
    person.by = altering("/v1/round", with_terms(group, **changes))
    expect_refusal(person, "the server's answer makes no sense")


def test_another_ranker_than_was_announced(group: Group, person: Person) -> None:
    """The ranker that a round begins from must have the announced hash; otherwise nothing is spent."""
    person.join(group)
    zeros = encode_vector(np.zeros(N_FEATURES))
    person.by = altering("/v1/models/", signed_anew(group, ModelRecord, theta=zeros))
    expect_refusal(person, "another model than it announced")
