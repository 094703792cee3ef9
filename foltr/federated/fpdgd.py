"""FPDGD: every device learns by PDGD, the server averages their rankers (thesis Algorithms 2 to 4).

    theta_c <- theta_t;  B times: theta_c <- theta_c + learning_rate * PDGD gradient of the page just shown
    theta_{t+1} = sum over clients of  n_c / n * theta_c          (Eq. 3.16, n = sum of n_c)

A page is a Plackett-Luce ranking of the local scores divided by the temperature, and the gradient uses the same
temperature (the published code divides in sampling alone, after which the reversed-pair weight is wrong). One device
with many interactions in a round is centralised PDGD.

With a privacy mechanism the device holds its ranker within `local_bound` after each step and lets out only what the
mechanism releases (Algorithm 3); see foltr.privacy.mechanisms for what that is worth.

Of some weights alone (`shared`) a group can learn: the others stay as they began, and are not sent. What one page or
one query can show is bounded by a fixed start, update = "batch": every page p takes its step g_p at the ranker that the
round began with, so that no page changes what another one says, and with P_L the projection onto the ball of radius L,

    update = P_clip( sum over queries q of  P_query( sum over pages p of q of  P_step( learning_rate g_p ) ) )

A projection moves no two points apart. So a page more or less moves the update by `longest_step` at most, all pages of
a query together by `longest_query` at most (each as a Euclidean length, before noise).

Two remedies for devices whose users want different things: FedProx (Li et al., MLSys 2020) draws every step back to the
common ranker, and FedPer (Arivazhagan et al. 2019) leaves the output layer of a neural ranker with each device,

    theta_c <- theta_c + learning_rate * (PDGD gradient - proximal * (theta_c - theta_t))      (`proximal`)
    what is sent and averaged are W and b, while v goes on from the device's own last round    (`personal`)

A message goes over the wire as the number of interactions (uint32, 1 where weights are equal) and the shared weights
`[n_sent]` (float64), little-endian.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec
import numpy as np

from foltr.arithmetic import length
from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.joining import Joined, Joining, join, noise_of, weights
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Optimizer, check_positive
from foltr.federated.wire import decode_vector, encode_vector
from foltr.online import pdgd
from foltr.privacy.accounting import Caps
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism, NoPrivacy, clip_l2
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import draw
from foltr.ranking.rankers import Neural, Ranker


@dataclass(frozen=True, slots=True, eq=False)
class FPDGDLocal:
    """A device in the middle of a round."""

    start: FloatVector
    """[n_params] the global theta it began with"""
    theta: FloatVector
    """[n_params] what it has learned since"""
    n_interactions: int = 0
    by_query: Mapping[bytes, FloatVector] = field(default_factory=dict)
    """[n_sent] what the pages of each named query asked for, added up; kept only where `longest_query` needs it"""


class FPDGDMessage(msgspec.Struct, frozen=True, eq=False):
    """What leaves the device: the weights that it shares, after the privacy mechanism, and how many pages it saw."""

    theta: FloatVector
    """[n_sent]"""
    n_interactions: int


@dataclass(frozen=True, slots=True)
class FPDGD:
    """Federated PDGD; ValueRangeError for settings that are outside their range or do not fit one another."""

    ranker: Ranker
    learning_rate: float = 0.1
    """eta"""
    temperature: float = 1.0
    """of the Plackett-Luce model: above 1 explores more"""
    update: Literal["each", "batch"] = "each"
    """a step after each page, or the gradients of all the round's pages at its first theta, added up into one step"""
    weighting: Literal["interactions", "equal"] = "interactions"
    """n_c of Eq. 3.16: pages seen, or 1; always 1 while a privacy mechanism is on"""
    privacy: Mechanism = field(default_factory=NoPrivacy)
    aggregation: Aggregation = field(default_factory=Mean)
    """how the server joins the clients' differences; "mean" is Eq. 3.16"""
    largest_weight: int | None = None
    """pages of one device that count at most, where weights are not equal; None: all of them"""
    guard: bool = False
    """whether the server judges each round, and aggregates robustly while it looks attacked"""
    assumed_malicious: int = 0
    """how many bad updates the guard's rule withstands; 0: a fifth of them"""
    optimizer: Optimizer = field(default_factory=SGD)
    """the server's step along the joined difference; SGD of rate 1 is Eq. 3.16"""
    shared: tuple[int, ...] = ()
    """rising indices of the weights that learn and leave the device; (): all of them"""
    longest_step: float | None = None
    """the longest step that one page may take, a Euclidean length; None: no cap"""
    longest_query: float | None = None
    """how far all pages of one query may move a round together; None: no cap. Only with update = "batch" """
    proximal: float = 0.0
    """mu of FedProx: how strongly a step is drawn back to the common ranker. Only with update = "each" """
    personal: bool = False
    """FedPer: whether the output layer stays on the device; only of a neural ranker all of whose weights are shared"""
    zero_start: bool = False
    """whether the first ranker is all 0, as the thesis prints, and not the ranker's own; not of a neural ranker"""

    def __post_init__(self) -> None:
        caps = {"longest_step": self.longest_step, "longest_query": self.longest_query}
        held = {name: cap for name, cap in caps.items() if cap is not None}
        check_positive(learning_rate=self.learning_rate, temperature=self.temperature, **held)
        if self.longest_query is not None and self.update != "batch":
            raise ValueRangeError('longest_query needs update = "batch": else each page changes what the others say')
        if self.proximal < 0 or not np.isfinite(self.proximal) or (self.proximal > 0 and self.update != "each"):
            raise ValueRangeError(f'proximal must not be negative, and needs update = "each", not {self.proximal}')
        if self.personal and (self.shared or not isinstance(self.ranker, Neural)):
            raise ValueRangeError("personal output weights need a neural ranker, all of whose weights are shared")
        if self.zero_start and isinstance(self.ranker, Neural):
            raise ValueRangeError("zero_start: a neural ranker whose weights are all 0 learns nothing")
        within = all(0 <= index < self.ranker.n_params for index in self.shared)
        if not within or list(self.shared) != sorted(set(self.shared)):
            raise ValueRangeError(f"shared must hold rising indices below {self.ranker.n_params}, not {self.shared}")
        _ = self.joining  # refuses what does not fit

    @property
    def sends(self) -> slice | list[int]:
        """Which weights of a ranker leave a device."""
        if isinstance(self.ranker, Neural) and self.personal:
            return slice(self.ranker.n_hidden * (self.ranker.n_features + 1))
        return list(self.shared) if self.shared else slice(None)

    @property
    def n_sent(self) -> int:
        """How many numbers a message holds: what privacy is counted for."""
        return len(self.sent(np.empty(self.ranker.n_params)))

    def sent(self, theta: FloatVector) -> FloatVector:
        """The weights of a ranker `[n_params]` that leave a device, `[n_sent]`."""
        return theta[self.sends]

    def placed(self, theta: FloatVector, sent: FloatVector) -> FloatVector:
        """The ranker `[n_params]` with those weights in the place of its own."""
        if len(sent) == len(theta):
            return sent
        whole = theta.copy()
        whole[self.sends] = sent
        return whole

    def shared_part(self, model: Model) -> Model:
        """The model as it is joined: its shared weights and what is remembered of them, each `[n_sent]`."""
        return replace(model, theta=self.sent(model.theta), moments=tuple(map(self.sent, model.moments)))

    def whole(self, model: Model, part: Model) -> Model:
        """The model after `model` whose shared part is `part`; all else is as it was."""
        still = np.zeros_like(model.theta)
        moments = tuple(self.placed(still, moment) for moment in part.moments)
        return replace(part, theta=self.placed(model.theta, part.theta), moments=moments)

    @property
    def joining(self) -> Joining:
        """The server's part of the settings."""
        return Joining(
            rule=self.aggregation,
            largest_weight=self.largest_weight,
            guard=self.guard,
            assumed_malicious=self.assumed_malicious,
            optimizer=self.optimizer,
            noise=noise_of(self.privacy),
        )

    def caps(self, n_pages: int) -> Caps | None:
        """What holds the updates of a round of so many pages; None where no Gaussian noise hides them.

        It is the clip alone where a page changes the steps of those after it.
        """
        if not isinstance(self.privacy, Gaussian):
            return None
        if self.update == "each":
            return Caps(clip=self.privacy.clip)
        return Caps(self.privacy.clip, self.longest_step or math.inf, self.longest_query or math.inf, n_pages)

    @property
    def weighs_alike(self) -> bool:
        """Whether every device that saw a page counts as much as any other."""
        return self.weighting == "equal" or not isinstance(self.privacy, NoPrivacy)

    def initial(self, rng: np.random.Generator) -> Model:
        """The ranker's own starting point, or zeros."""
        return Model(np.zeros(self.ranker.n_params) if self.zero_start else self.ranker.initial(rng))

    def begin(self, model: Model, rng: np.random.Generator) -> FPDGDLocal:
        """The global ranker, no page seen; draws nothing."""
        return FPDGDLocal(model.theta, model.theta)

    def begin_keeping(self, model: Model, kept: FloatVector) -> FPDGDLocal:
        """`begin` of a device that ended its last round with the ranker `kept` `[n_params]`, with `personal`."""
        theta = self.with_personal(model.theta, kept)
        return FPDGDLocal(theta, theta)

    def with_personal(self, theta: FloatVector, own: FloatVector) -> FloatVector:
        """The common ranker `[n_params]` with what a device keeps of its `own` `[n_params]`."""
        return self.placed(own, self.sent(theta))

    def rank(self, local: FPDGDLocal, features: FloatMatrix, rng: np.random.Generator, *, k: int) -> IntVector:
        """A Plackett-Luce ranking: one number of `rng` for each of the `min(k, n_docs)` ranks."""
        return draw(self.ranker.score(self._learner(local), features) / self.temperature, k, rng)

    def learn(self, local: FPDGDLocal, interaction: Interaction, query: bytes = b"") -> FPDGDLocal:
        """One PDGD step; with update="batch" its gradient is that of the round's first theta.

        `query` names the page's query; a page without a name counts as a query of its own.
        """
        slope = pdgd.gradient(self.ranker, self._learner(local), interaction, temperature=self.temperature)
        if self.proximal:
            slope = slope - self.proximal * (local.theta - local.start)
        step = _within(self.learning_rate * self.sent(slope), self.longest_step)
        by_query = local.by_query
        if self.longest_query is not None:
            before = by_query.get(query, np.zeros_like(step)) if query else np.zeros_like(step)
            if query:
                by_query = {**by_query, query: before + step}
            step = _within(before + step, self.longest_query) - _within(before, self.longest_query)
        own = local.theta + self.learning_rate * slope if self.personal else local.theta
        theta = self.placed(own, self.sent(local.theta) + step)
        if self.update == "each":
            theta = self._bounded(theta)
        return FPDGDLocal(local.start, theta, local.n_interactions + 1, by_query)

    def report(self, local: FPDGDLocal, rng: np.random.Generator) -> FPDGDMessage:
        """What the privacy mechanism lets out."""
        released = self.privacy.release(self.sent(local.start), self.sent(self._end(local)), rng)
        return FPDGDMessage(released, local.n_interactions)

    def hidden(self, local: FPDGDLocal) -> FloatVector:
        """What the noise of `report` hides: the clipped update `[n_sent]`, on which keyed noise must depend."""
        return self.privacy.bounded(self.sent(local.start), self.sent(self._end(local)))

    def aggregate(self, model: Model, messages: Sequence[FPDGDMessage]) -> Model:
        """What `foltr.federated.joining.join` makes of the messages; by default the weighted mean.

        The same theta when there are no messages or none saw a page. ShapeError for a theta of another length than what
        is shared; ValueRangeError for one that is not finite, and for a negative number of interactions.
        """
        n_sent = len(self.sent(model.theta))
        for message in messages:
            if np.shape(message.theta) != (n_sent,):
                raise ShapeError(f"theta must be {[n_sent]}, not {list(np.shape(message.theta))}")
        thetas = np.array([m.theta for m in messages], dtype=np.float64).reshape(len(messages), n_sent)
        return self.joined(model, thetas, np.array([m.n_interactions for m in messages], dtype=np.float64)).model

    def joined(self, model: Model, thetas: FloatMatrix, n_interactions: FloatVector) -> Joined:
        """`aggregate` for the matrix of what the devices sent `[n_clients, n_sent]` and their pages `[n_clients]`."""
        joining = self.joining
        counts = weights(joining, n_interactions, equal=self.weighs_alike)
        found = join(joining, self.shared_part(model), thetas, counts)
        delta = self.placed(np.zeros_like(model.theta), found.delta)
        return msgspec.structs.replace(found, model=self.whole(model, found.model), delta=delta)

    def _learner(self, local: FPDGDLocal) -> FloatVector:
        return local.theta if self.update == "each" else local.start

    def _end(self, local: FPDGDLocal) -> FloatVector:
        return self._bounded(local.theta) if self.update == "batch" else local.theta

    def _bounded(self, theta: FloatVector) -> FloatVector:
        bound = self.privacy.local_bound
        return theta if bound is None else self.placed(theta, clip_l2(self.sent(theta), bound))


def _within(step: FloatVector, longest: float | None) -> FloatVector:
    """The step `[n_sent]`, shortened to `longest` where that is a number."""
    return step if longest is None else clip_l2(step, longest)


_COUNT = struct.Struct("<I")
LARGEST_WITHOUT_PRIVACY = 100.0
"""L2 norm of an update that no mechanism bounds: far more than a round of PDGD moves a ranker"""
RARE = 1e-12
"""how often an honest device's noise may exceed the bound of `largest_update`"""


def encode_message(method: FPDGD, message: FPDGDMessage) -> bytes:
    """The payload, `payload_size` bytes: how many interactions taught it (1 where all weigh the same), then theta."""
    count = 1 if method.weighting == "equal" else min(message.n_interactions, 0xFFFFFFFF)
    return _COUNT.pack(count) + encode_vector(message.theta)


def decode_message(method: FPDGD, payload: bytes) -> FPDGDMessage:
    """The message; ShapeError for another length, ValueRangeError when not finite or from no interaction."""
    n_sent = method.n_sent
    if len(payload) != payload_size(method):
        raise ShapeError(f"a message of {n_sent} parameters is {payload_size(method)} bytes, not {len(payload)}")
    (count,) = _COUNT.unpack_from(payload)
    if count == 0:
        raise ValueRangeError("a message from no interaction")
    return FPDGDMessage(decode_vector(payload[_COUNT.size :], n_sent), count)


def payload_size(method: FPDGD) -> int:
    """Bytes of every payload of this method."""
    return _COUNT.size + 8 * method.n_sent


def largest_update(method: FPDGD, start: FloatVector) -> float:
    """The largest ||theta - start||_2 that an honest device sends, but for once in 10^12 messages.

    `start` `[n_sent]` are the weights that it began from. Gaussian noise of deviation s in d numbers:
    s (sqrt(d) + sqrt(2 ln(1/RARE))) (Lipschitz concentration). Laplace noise of scale b: its L1
    norm is a Gamma(d, b) variable, at most b (d + sqrt(2 d t) + t) with t = ln(1/RARE) (Boucheron, Lugosi and
    Massart, "Concentration inequalities", Section 2.4).
    """
    privacy, d, t = method.privacy, len(start), math.log(1.0 / RARE)
    if isinstance(privacy, NoPrivacy):
        return LARGEST_WITHOUT_PRIVACY
    if isinstance(privacy, Gaussian):
        return privacy.clip + privacy.deviation * (math.sqrt(d) + math.sqrt(2.0 * t))
    if isinstance(privacy, Laplace):
        return privacy.clip + privacy.clip / privacy.epsilon * (d + math.sqrt(2.0 * d * t) + t)
    if isinstance(privacy, FpdgdPaper):
        radius = privacy.local_bound or 0.0
        noise = privacy.sensitivity / privacy.epsilon * (d + math.sqrt(2.0 * d * t) + t)
        return radius + length(start) + noise
    raise ValueRangeError(f"no bound is known for {type(privacy).__name__}")
