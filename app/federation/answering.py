"""A device's answer to one round: learned, noised, sealed, and when it leaves.

A device answers every round, with noise alone when it has nothing to say: who takes part tells nothing about what was
opened. The noise is a function of this membership's secret key and of all that the update depends on, so that a copied
or restored state folder releases the same numbers (foltr.privacy.noise). When the answer is sent is a function of the
same key and of the round, never of the pages: it is on disk before the connection that carries it is opened.
"""

from __future__ import annotations

import hashlib

import msgspec

from app.federation.membership import Membership
from app.federation.replay import ReplayPages
from app.federation.terms import method_of
from foltr.arrays import FloatVector
from foltr.federated.envelope import seal
from foltr.federated.fpdgd import FPDGDLocal
from foltr.federated.method import Model
from foltr.federated.payload import encode_message
from foltr.federated.wire import Announcement, Sealed, Update, encode
from foltr.privacy.noise import keyed_generator

SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 4.0
"""seconds from the announcement to the answer of a sync that was asked for: more than preparing it takes"""
EARLY = 0.15
"""of a round's time: left for devices that sync once a day to answer a round of a week"""


def sealed_update(told: Announcement, theta: FloatVector, pages: ReplayPages, member: Membership) -> Sealed:
    """Begin from `theta`, learn from each page, report with this device's noise for it, seal for this round."""
    method, local = method_of(told.terms), learned(told, theta, pages, member)
    rng = keyed_generator(member.noise_key, noise_context(told, method.hidden(local)))
    update = Update(
        group_id=told.terms.group_id,
        lineage=told.lineage,
        round=told.round,
        device=member.device,
        model_hash=told.model_hash,
        manifest_hash=told.terms.manifest_hash,
        payload=encode_message(method, method.report(local, rng)),
    )
    return Sealed(round=told.round, lineage=told.lineage, box=seal(told.round_key, encode(update)))


def learned(told: Announcement, theta: FloatVector, pages: ReplayPages, member: Membership) -> FPDGDLocal:
    """What the group's method learns from the pages, beginning from the announced `theta` `[n_params]`."""
    method = method_of(told.terms)
    local = method.begin(Model(theta, told.round - 1), keyed_generator(member.noise_key, b"nothing is drawn"))
    for interaction, query in zip(pages.interactions, pages.queries, strict=True):
        local = method.learn(local, interaction, query)
    return local


def noise_context(told: Announcement, hidden: FloatVector) -> bytes:
    """All that an update depends on: group and terms, lineage, round, model, and the clipped update `[n_params]`."""
    shown = hashlib.blake2b(hidden.astype("<f8").tobytes(), digest_size=32).hexdigest()
    return msgspec.json.encode(["update", encode(told.terms), told.lineage, told.round, told.model_hash, shown])


def chance(told: Announcement, member: Membership) -> float:
    """A number in [0, 1) that only this device can foretell, the same for the whole round."""
    context = msgspec.json.encode(["moment", told.terms.group_id, told.lineage, told.round])
    return float(keyed_generator(member.noise_key, context).random())


def pause(chance: float, taken: float) -> float:
    """Seconds to wait when preparing took `taken`: from SHORTEST_PAUSE to LONGEST_PAUSE after the announcement.

    Whoever took longer waits for the next such moment, LONGEST_PAUSE later.
    """
    moment = SHORTEST_PAUSE + chance * (LONGEST_PAUSE - SHORTEST_PAUSE)
    while moment < taken:
        moment += LONGEST_PAUSE
    return moment - taken


def moment(told: Announcement, chance: float) -> int:
    """When this device answers the round, in seconds since 1970: from half of its time to EARLY of it before its end.

    Answers that leave as soon as a round opens would use up the rounds of a period before anything was opened.
    """
    return told.opened + int((0.5 + chance * (0.5 - EARLY)) * max(told.deadline - told.opened, 0))
