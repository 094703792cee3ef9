"""Four honest devices, one that lies, and a real server: it is named within the round, and nobody else loses by it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import select

from app.federation import ledger, membership
from app.federation.failures import FederationError
from federation_server.database import reading
from federation_server.tables import rounds
from foltr.federated.sealed import note_proof, sums
from foltr.federated.sealed.sums import ANSWER, Occasion, OpenedShares, answer_text
from foltr.federated.wire import CommitteeAnswer, SharedUpdate
from tests.app.federation.groups import Group, friends, told_to
from tests.app.federation.test_sealed_part import Make, after_deadline, closed_rounds
from tests.federation_server.sealed_members import forged

pytestmark = pytest.mark.usefixtures("few_coins")

Patch = pytest.MonkeyPatch


def bad_share(patch: Patch) -> None:
    """A number of the second member's share is another, well sealed."""
    made = sums.share

    def false(*arguments: Any, **named: Any) -> sums.Sharing:
        found = made(*arguments, **named)
        first, second, *rest = found.shares
        return replace(found, shares=(first, (second[0] + 1, *second[1:]), *rest))

    patch.setattr(sums, "share", false)


def bad_box(patch: Patch) -> None:
    """The second member's box does not open."""
    made = sums.prove_update

    def false(occasion: Occasion, *arguments: Any) -> SharedUpdate:
        *_, identity, device, _ = arguments
        who: Any = type("Who", (), {"identity": identity, "device": device})
        return forged(occasion, who, made(occasion, *arguments), 2)

    patch.setattr(sums, "prove_update", false)


def bad_length(patch: Patch) -> None:
    """A signal a million times too long, and for a proof what may pass for one."""
    draft = sums.draft_update
    patch.setattr(sums, "draft_update", lambda *given: replace(d := draft(*given), signal=d.signal * 10**6 + 10**6))
    patch.setattr(note_proof, "prove", lambda terms, *given: given[0].note * (terms.proof_bytes // 32))


def false_complaint(patch: Patch) -> None:
    """About a share that is right."""
    opened = sums.opened_shares

    def false(*arguments: Any, **named: Any) -> OpenedShares:
        found = opened(*arguments, **named)
        return replace(found, bad=(next(iter(found.shares)),))

    patch.setattr(sums, "opened_shares", false)


def false_answer(patch: Patch) -> None:
    """A sum that is off by one, well signed."""
    answer = sums.answer

    def false(occasion: Occasion, listed: Any, identity: Any, *rest: Any) -> CommitteeAnswer:
        said = answer(occasion, listed, identity, *rest)
        lie = msgspec.structs.replace(said, sums=bytes([said.sums[0] ^ 1]) + said.sums[1:])
        return msgspec.structs.replace(lie, signature=identity.sign(ANSWER, answer_text(occasion, lie)))

    patch.setattr(sums, "answer", false)


@pytest.mark.parametrize("lie", [bad_share, bad_box, bad_length, false_complaint, false_answer])
def test_each_kind_of_liar_is_named_within_the_round(
    answered_by_four: Group, make_person: Make, monkeypatch: Patch, lie: Callable[[Patch], None]
) -> None:
    """It, and nobody else; the round closes with the notes that hold, and no other's is spent for nothing."""
    *honest, liar = friends(answered_by_four.made, make_person)
    names = [membership.member(person.store).device for person in (*honest, liar)]
    before = told_to(honest[0])
    for _ in range(2):
        with monkeypatch.context() as patch, suppress(FederationError):
            lie(patch)
            liar.sync()
        if told_to(honest[0]).phase == "collect" and closed_rounds(answered_by_four) == 0:
            after_deadline(answered_by_four)  # its note was refused at the door
        for person in honest:
            person.sync()
    with reading(answered_by_four.made.engine) as connection:
        row = connection.execute(select(rounds).where(rounds.c.round == 1)).one()
    assert (row.state, row.rule) == ("closed", "sum")
    assert [name in row.guard for name in names] == [False, False, False, False, True]
    assert told_to(honest[0]).model_hash != before.model_hash
    assert all(sum(entry.round == 1 for entry in ledger.entries(person.store)) == 1 for person in honest)


def test_a_note_that_was_drafted_is_finished_as_it_was(sealed: Group, make_person: Make, monkeypatch: Patch) -> None:
    """Killed after the server drew the coins, before the note was on disk: the next sync, with other pages by then,
    sends the note that was committed to, and it costs once."""
    person, *_ = friends(sealed.made, make_person)
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "finish_upload", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            person.sync()
    (drafted,) = ledger.all_uploads(person.store)
    assert (drafted.state, len(ledger.entries(person.store))) == ("drafted", 1)
    person.see_pages(5, seed=77)
    assert person.sync().sent
    (sent,) = ledger.all_uploads(person.store)
    assert (sent.state, sent.body, len(ledger.entries(person.store))) == ("sent", None, 1)
