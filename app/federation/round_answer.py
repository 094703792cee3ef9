"""This device's part in one round: from which pages its answer is learned, how it is noised and sealed, when it leaves.

A device answers every round, with noise alone when it has nothing to say: who takes part tells nothing about what was
opened. The noise is a function of this membership's secret key and of all that the update depends on, so that a copied
or restored state folder releases the same numbers (foltr.privacy.noise). When the answer is sent is a function of the
same key and of the round, never of the pages: it is on disk before the connection that carries it is opened.

Every page teaches a lineage of the common ranker once: a round replays pages that came after those of the last one,
oldest first. The oldest pages that do not fit into the rounds left, `n_local` in each, are skipped; the others are
spread evenly over those rounds, as an update beyond the clip says no more than one that just fills it. When the group
begins a new lineage, what abandoned rounds learned is gone from the common ranker, and all stored pages count as new. A
round that helps to forget someone replays the newest `n_unlearn`, used or not, and marks none as used.

A sealed round has two phases:

collect     the roster is followed, cohort and committee are drawn from it as it was when the round opened; an answer is
            drafted, the bits of its noise fixed, and once the server has drawn the coins it is proved, and cut into
            shares that only the committee can add up
sum         a member of the committee notes the server's list durably, then answers it, and no other for that round

If a box holds something other than its sender committed to, the member complains, with a proof that everybody can
check, and the list is answered without that message; who had already answered with it answers once more. A noted list
is answered with the same bytes however often. A second one for the round is never answered: two
sums that differ by one member would open that member's update. Each published ranker names the one before and the list
of its round, so that the rankers are a chain, which each device follows: whoever answered another list sees it, and a
server that shows other members another chain must do so for ever, for what they send is bound to it. Two lists of one
round are kept as proof, and the device takes part in nothing from then on.
"""

from __future__ import annotations

import hashlib
import math
from itertools import pairwise

import msgspec

from app.federation import answering_device, group_roster, ledger, membership
from app.federation.failures import Distrusted, FederationError
from app.federation.membership import Membership
from app.federation.server import Correspondence, opened
from app.federation.terms import method_of
from app.learning.traits import Marks
from app.store import StateError, Store, decode_record
from foltr.arrays import FloatVector
from foltr.errors import RecordError
from foltr.federated import wire
from foltr.federated.envelope import seal
from foltr.federated.fpdgd import FPDGDLocal, encode_message
from foltr.federated.method import Model
from foltr.federated.sealed import sums
from foltr.federated.sealed.committee import LARGEST_COMMITTEE, Cohort, CohortError, cohort_of
from foltr.federated.sealed.complaints import complaint, left_out
from foltr.federated.wire import decode, decode_vector, digest, encode
from foltr.privacy.mechanisms import Gaussian
from foltr.privacy.noise import keyed_generator
from foltr.ranking.interaction import Interaction
from foltr.ranking.interaction import decode as decode_interaction

SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 4.0
"""seconds from the announcement to the answer of a sync that was asked for: more than preparing it takes"""
EARLY = 0.15
"""share of a round's time left after answers are due, so that devices syncing once a day answer a week's round"""
LOST: dict[wire.Loss, str] = {
    "gone": "too many members had left to add it up",
    "silent": "too few members added it up in time",
    "false": "too few of the notes were true to hide one another",
    "impossible": "no honest notes make the sum that came out",
}
LONGEST_WALK = 1000
"""most rankers that a device follows back to the last one it saw: with four rounds a year, 250 years"""


class ReplayPages(msgspec.Struct, frozen=True, eq=False):
    """Stored interactions, oldest first."""

    interactions: tuple[Interaction, ...]
    queries: tuple[bytes, ...]
    """the hashed query of each, b"" for one of its own"""
    marks: tuple[Marks, ...]
    """for each page the type and hashed folders of its documents, () where they were not noted"""
    last: int
    """the number of the newest page, 0 for none"""


def newest_pages(store: Store, manifest_hash: str, *, after: int = 0, n: int, n_rounds: int = 1) -> ReplayPages:
    """At most `n` stored interactions with features of this meaning, of those numbered above `after`.

    They are one round's share if the newest `n * n_rounds` are spread over the next `n_rounds`; for 1 the newest `n`.
    """
    rows = store.rows(
        "SELECT id, record, query, marks FROM interactions WHERE manifest_hash = ? AND id > ? ORDER BY id DESC LIMIT ?",
        (manifest_hash, after, n * n_rounds),
    )
    taken = rows[::-1][: math.ceil(len(rows) / n_rounds)]
    return ReplayPages(
        tuple(decode_interaction(record) for _, record, _, _ in taken),
        tuple(bytes(query) for _, _, query, _ in taken),
        tuple(_marks(stored, store) for *_, stored in taken),
        int(taken[-1][0]) if taken else 0,
    )


def _marks(stored: bytes, store: Store) -> Marks:
    what = f"what a page's documents are known by in {store.path}"
    return decode_record(stored, tuple[tuple[str, ...], ...], StateError, what) if stored else ()


def rounds_left(terms: wire.Terms, number: int) -> int:
    """How many rounds the period has left from round `number` of a lineage on, inclusive; 1 for endless periods."""
    return terms.n_rounds - (number - 1) % terms.n_rounds if terms.n_rounds else 1


def sealed_update(
    announced: wire.Announcement, theta: FloatVector, pages: ReplayPages, member: Membership
) -> wire.Sealed:
    """Begin from `theta`, learn from each page, report with this device's noise for it, seal for this round."""
    method, local = method_of(announced.terms), learned(announced, theta, pages, member)
    rng = keyed_generator(member.noise_key, noise_context(announced, method.hidden(local)))
    update = wire.Update(
        group_id=announced.terms.group_id,
        lineage=announced.lineage,
        round=announced.round,
        device=member.device,
        model_hash=announced.model_hash,
        manifest_hash=announced.terms.manifest_hash,
        payload=encode_message(method, method.report(local, rng)),
    )
    return wire.Sealed(round=announced.round, lineage=announced.lineage, box=seal(announced.round_key, encode(update)))


def learned(announced: wire.Announcement, theta: FloatVector, pages: ReplayPages, member: Membership) -> FPDGDLocal:
    """What the group's method learns from the pages, beginning from the announced `theta` `[n_params]`."""
    method = method_of(announced.terms)
    local = method.begin(Model(theta, announced.round - 1), keyed_generator(member.noise_key, b"nothing is drawn"))
    for interaction, query in zip(pages.interactions, pages.queries, strict=True):
        local = method.learn(local, interaction, query)
    return local


def noise_context(announced: wire.Announcement, hidden: FloatVector) -> bytes:
    """What an update depends on: group and terms, lineage, round, model, and the clipped update `[n_params]`."""
    shown = hashlib.blake2b(hidden.astype("<f8").tobytes(), digest_size=32).hexdigest()
    return msgspec.json.encode(
        ["update", encode(announced.terms), announced.lineage, announced.round, announced.model_hash, shown]
    )


def chance(announced: wire.Announcement, member: Membership) -> float:
    """A number in [0, 1) that only this device can predict, the same for the whole round."""
    context = msgspec.json.encode(["moment", announced.terms.group_id, announced.lineage, announced.round])
    return float(keyed_generator(member.noise_key, context).random())


def pause(chance: float, taken: float) -> float:
    """Seconds to wait when preparing took `taken`: from SHORTEST_PAUSE to LONGEST_PAUSE after the announcement.

    A device that took longer waits for the next such moment, LONGEST_PAUSE later; so does one whose clock was set.
    """
    return (SHORTEST_PAUSE + chance * (LONGEST_PAUSE - SHORTEST_PAUSE) - taken) % LONGEST_PAUSE


def moment(announced: wire.Announcement, chance: float) -> int:
    """When this device answers the round, in seconds since 1970: from half of its time to EARLY of it before its end.

    Answers that leave as soon as a round opens would use up the rounds of a period before anything was opened.
    """
    return announced.opened + int((0.5 + chance * (0.5 - EARLY)) * max(announced.deadline - announced.opened, 0))


PROOF = 2
"""most lists kept of one round: two prove as much as a hundred"""


class RoundPlace(msgspec.Struct, frozen=True):
    """Where this device stands in the open round."""

    occasion: sums.Occasion | None
    """None when it takes no part"""
    why_not: str = ""


def place(store: Store, server: Correspondence, announced: wire.Announcement) -> RoundPlace:
    """The device's place by the roster that it has verified; Distrusted when the server's does not check out."""
    member, mode = server.member, announced.terms.mode
    assert mode != "open"
    now = group_roster.known(store, member.group_id)
    least = membership.load_standing(store).roster_least
    if announced.roster_number < least:
        return RoundPlace(
            None,
            f"sat out round {announced.round}: the server opened it for an older roster ({announced.roster_number} "
            f"entries) than it had shown before ({least}), in which fewer members could read a note",
        )
    if now.number < announced.roster_number:  # it grew since this sync followed it
        now = group_roster.follow(store, server)
    me = now.of_device(member.device)
    if me is None:
        return RoundPlace(None, "this device is not on the group's roster: it must join by a new invite")
    if not me.vouched:
        return RoundPlace(
            None,
            f"waiting: no member has vouched for this device yet (`foltr-search vouch {member.device[:8]}` on a "
            f"member's device; compare {group_roster.own_print(member)})",
        )
    then = group_roster.at_opening(store, now, announced.roster_number, announced.roster_head)
    try:
        cohort = cohort_of(then, mode)
    except CohortError as error:
        return RoundPlace(None, f"sat out round {announced.round}: {error}")
    except RecordError as error:
        raise Distrusted(f"the server's roster does not hold: {error}") from error
    if member.device not in cohort.by_device:
        return RoundPlace(
            None, f"round {announced.round} opened before this device was vouched for; it takes part in the next"
        )
    if announced.phase == "collect" and not announced.wanted:
        return RoundPlace(
            None,
            f"sat out round {announced.round}: too few of the {len(cohort.members)} on the roster are still members, "
            "the server says; who is gone is taken off it by `foltr-search vouch MEMBER --gone`",
        )
    return RoundPlace(occasion_of(announced, cohort))


def occasion_of(announced: wire.Announcement, cohort: Cohort) -> sums.Occasion:
    """The data to which all messages of the announced round are bound."""
    method = method_of(announced.terms)
    if not isinstance(method.privacy, Gaussian):
        raise FederationError("the group is sealed, but its terms add no Gaussian noise; nothing is sent")
    return sums.Occasion(
        group_id=announced.terms.group_id,
        lineage=announced.lineage,
        round=announced.round,
        model_hash=announced.model_hash,
        cohort=cohort,
        n_numbers=method.n_sent,
        privacy=method.privacy,
    )


def shared_update(
    server: Correspondence, occasion: sums.Occasion, announced: wire.Announcement, change: bytes
) -> wire.SharedUpdate:
    """The draft with this device's part of the noise, proved and in shares; noise bits are fixed before the coins.

    All its randomness is keyed: made again from the same draft and coins, it is the same.
    """
    member, vector = server.member, decode_vector(change, occasion.n_numbers)
    context = f"shares of {digest(announced.terms)}\n".encode() + sums.randomness(occasion, member.device, vector)
    draft = sums.draft_update(occasion, vector, keyed_generator(member.noise_key, b"draft\n" + context))
    seed = server.commit_noise(sums.noise_commitment(occasion, draft, member.device))
    rng = keyed_generator(member.noise_key, b"proved\n" + seed + context)
    return sums.prove_update(occasion, draft, seed, member.identity, member.device, rng)


def note_roster(store: Store, member: Membership, announced: wire.Announcement) -> None:
    """Remember the roster's length while this round is open or the group rests: later rounds may use no shorter one."""
    number = group_roster.known(store, member.group_id).number
    seen = membership.load_standing(store).roster_known
    membership.note_standing(store, roster_known=max(seen, number, announced.roster_number))


def follow_rankers(store: Store, server: Correspondence, announced: wire.Announcement) -> None:
    """Walk back from the announced ranker to the last one that was followed, or to the first of the lineage.

    Distrusted where the chain leads elsewhere, skips a round, names another list than this device has answered, or
    calls a round lost that moved the ranker. Notes the last lost round, and the rounds whose list this device should
    have been shown but was not.
    """
    known = membership.load_standing(store).followed
    lineage, round, wanted = announced.lineage, announced.round - 1, announced.model_hash
    if (lineage, round) < known[:2]:
        return  # another sync has seen more meanwhile
    end, lost = (known[1], membership.load_standing(store).lost) if known[0] == lineage else (0, "")
    if known[0] and round - end > LONGEST_WALK:
        raise Distrusted(f"the server's round went from {end + 1} to {announced.round} since this device saw one")
    walked: list[wire.ModelRecord] = []
    while known[0] and round > end:
        signed, ranker = server.past_model(wanted)
        if (ranker.lineage, ranker.round) != (lineage, round):
            raise Distrusted(f"the server's ranker of round {round} is that of another round")
        _compare(store, ranker, signed)
        if known[0] != lineage and not ranker.previous:
            break  # the lineage began with what a restored server got back
        walked.append(ranker)
        round, wanted = round - 1, ranker.previous
    if known[0] == lineage and (round, wanted) != known[1:]:
        raise Distrusted(f"round {announced.round} does not go on from the ranker that this device saw before")
    if known[0] != lineage:
        store.set_value(membership.UNLISTED, None, durable=True)
    for last, one in pairwise([server.past_model(wanted)[1], *reversed(walked)] if walked else []):
        if one.lost and (one.theta, one.noise) != (last.theta, last.noise):
            raise Distrusted(f"the server calls round {one.round} lost, and moved its ranker by it")
        if why := LOST.get(one.lost):
            lost = f"round {one.round} was lost, the server says: {why}. The ranker stays; what was sent is spent"
        elif (is_shown := _is_list_shown(store, server.member, one)) is not None:
            before = b"" if is_shown else store.value(membership.UNLISTED) or b""
            unlisted = b"" if is_shown else b" ".join([*before.split(), str(one.round).encode()])
            store.set_value(membership.UNLISTED, unlisted or None, durable=True)
    membership.note_standing(store, followed=(lineage, announced.round - 1, announced.model_hash), lost=lost)


def _is_list_shown(store: Store, member: Membership, ranker: wire.ModelRecord) -> bool | None:
    """Whether this device saw the list of a round that took its note; None for other rounds, or if only some add up."""
    upload = ledger.find_upload(store, ranker.lineage, ranker.round)
    if upload is None or upload.state != "sent":
        return None
    if len(group_roster.known(store, member.group_id).vouched) > LARGEST_COMMITTEE:
        return None
    return bool(noted_lists(store, ranker.lineage, ranker.round))


def _compare(store: Store, ranker: wire.ModelRecord, signed: wire.Signed) -> None:
    """Distrusted, with the proof kept, when a round used another list than the one this device answered."""
    noted = noted_lists(store, ranker.lineage, ranker.round)
    if noted and digest(noted[0].body) != ranker.list_hash:
        with store.transaction() as db:
            row = (ranker.lineage, ranker.round, 1, encode(signed))
            db.execute("INSERT OR IGNORE INTO round_lists VALUES (?, ?, ?, ?)", row)
        raise Distrusted(broken_word(store))


def broken_word(store: Store) -> str:
    """A sentence if the server signed two lists for one round; "" where this device has no proof of that."""
    rows = store.rows("SELECT lineage, round FROM round_lists WHERE place > 0 ORDER BY lineage, round LIMIT 1")
    for lineage, round in rows:
        hashes = ", ".join(
            hashlib.blake2b(one.body, digest_size=8).hexdigest() for one in noted_lists(store, lineage, round)
        )
        return (
            f"the server signed two lists for round {round} ({hashes}), which an honest one never does: it may have "
            "read a member's note. Both are kept as proof, and this device takes part in nothing more; tell the "
            "others, then `foltr-search leave`"
        )
    return ""


def add_up(store: Store, server: Correspondence, announced: wire.Announcement, occasion: sums.Occasion) -> str:
    """Answer the round's list as a member of the committee; a sentence. Distrusted for an inadmissible list."""
    member, task = server.member, server.list_task()
    listed = opened(member.server_key, task.signed_list, "list", wire.ShareList, "the server's list")
    if digest(task.signed_list.body) != announced.list_hash:
        raise Distrusted("the server sent another list than it announced")
    _note(store, announced, task.signed_list)
    mine = ledger.find_upload(store, announced.lineage, announced.round)
    if mine is not None and mine.state == "sent" and member.device not in listed.messages:
        raise Distrusted(
            f"the server's list of round {announced.round} lacks this device's note, which it had taken, and an honest "
            "one never does that: the note is spent for nothing. Tell the others before you sync again"
        )
    try:
        out = left_out(occasion, task, listed)
        found = sums.opened_shares(occasion, task, listed, member.device, member.box_key, without=out)
        for box in task.boxes:
            if box.device in found.bad:
                about = complaint(occasion, box, listed, member.identity, member.device, member.box_key)
                server.send(encode(about), wire.Complaint)
        if found.bad:
            return _without_the_bad(store, server, announced, occasion, {*out, *found.bad})
        said = sums.answer(occasion, listed, member.identity, member.device, found, out)
    except sums.SealedSumError as error:
        raise Distrusted(f"round {announced.round} is not added up here: {error}") from error
    server.send(encode(said), wire.CommitteeAnswer)
    without = f", without {', '.join(out)}, whose message does not hold together" if out else ""
    return f"added up round {announced.round} of {len(listed.messages) - len(out):,} members, unread{without}"


def _without_the_bad(
    store: Store, server: Correspondence, announced: wire.Announcement, occasion: sums.Occasion, bad: set[str]
) -> str:
    """`add_up` again, once the server has taken the complaints; Distrusted if it has not."""
    told = {one.complaint.about for one in server.list_task().complaints}
    if not bad <= told:
        raise Distrusted(f"the server goes on with messages that were shown to it as false: {', '.join(bad - told)}")
    return add_up(store, server, announced, occasion)


def noted_lists(store: Store, lineage: int, round: int) -> tuple[wire.Signed, ...]:
    """The server's signed lists of a round: the one that is answered, then any that contradicts it."""
    rows = store.rows("SELECT signed FROM round_lists WHERE lineage = ? AND round = ? ORDER BY place", (lineage, round))
    return tuple(decode(signed, wire.Signed) for (signed,) in rows)


def _note(store: Store, announced: wire.Announcement, signed: wire.Signed) -> None:
    """Note a list, durably, before it is answered; Distrusted, with the proof kept, if another was noted before."""
    with store.transaction() as db:
        answering_device.require(store)
        before = noted_lists(store, announced.lineage, announced.round)
        if len(before) < PROOF and signed.body not in [one.body for one in before]:
            db.execute(
                "INSERT INTO round_lists VALUES (?, ?, ?, ?)",
                (announced.lineage, announced.round, len(before), encode(signed)),
            )
    if before and before[0].body != signed.body:
        raise Distrusted(broken_word(store))
