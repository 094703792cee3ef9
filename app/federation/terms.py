"""What a group's terms mean for one device: how well the noise hides it, what is left of the signal, and what leaves.

    noise in the mean over the longest signal = z sqrt(d / N)     local Gaussian noise of z clips in each of d weights
                                              = z sqrt(d) / N     distributed: the N shares add up to z clips

(`foltr.privacy.accounting.relative_noise`; for Laplace noise z is sqrt(2) / epsilon.) All epsilons here are against the
server, which opens each update of its own, and for a device's whole contribution.

What leaves is read off the definitions of the records that are sent: `foltr-search privacy` prints it, docs/privacy.md
holds it, and tests compare both with the records and with what is seen on the wire.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from app.federation.failures import FederationError
from foltr.errors import FoltrError
from foltr.federated import wire
from foltr.federated.fpdgd import FPDGD
from foltr.federated.registry import make_method
from foltr.federated.wire import DEVICE_RECORDS, Record, Terms
from foltr.privacy.accounting import Ledger, relative_noise
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism, NoPrivacy
from foltr.ranking.rankers import make_ranker


@dataclass(frozen=True, slots=True)
class Protection:
    """One round under some terms."""

    mechanism: Mechanism
    exact_count: bool
    """whether the number of pages replayed is sent as it is, which no noise hides"""
    n_params: int
    """numbers that an update holds"""
    floor: int
    """updates that a round has at least"""

    @property
    def hides(self) -> bool:
        """Whether there is any guarantee against a server that opens the update."""
        return math.isfinite(self.epsilon(1e-5, "zero-out"))

    def epsilon(self, delta: float, neighbours: str) -> float:
        """Of each round, against the server; inf where nothing is guaranteed."""
        if self.exact_count or is_share(self.mechanism):
            return math.inf
        spent = Ledger(self.n_params).spend(self.mechanism)
        return spent.epsilon(delta, neighbours="replace" if neighbours == "replace" else "zero-out", against="server")

    @property
    def relative_noise(self) -> float | None:
        """How long the noise in the mean of `floor` updates is beside the longest possible signal; None: unknown."""
        found = noise_multiplier(self.mechanism)
        if found is None:
            return None
        in_the_sum = found if is_share(self.mechanism) else found * math.sqrt(self.floor)
        return relative_noise(in_the_sum, n_params=self.n_params, n_clients=self.floor)

    @property
    def members_needed(self) -> int | None:
        """The smallest number of updates whose mean has noise no longer than the longest possible signal."""
        found = noise_multiplier(self.mechanism)
        if found is None:
            return None
        squared = found**2 * self.n_params
        return math.ceil(math.sqrt(squared) if is_share(self.mechanism) else squared)


def method_of(terms: Terms) -> FPDGD:
    """The method as the group's terms set it; FederationError for one that this program cannot take part in."""
    return _make_method(wire.encode(terms))


@lru_cache(maxsize=2)
def _make_method(encoded: bytes) -> FPDGD:
    """By the terms' bytes: one sync asks four times, and their settings, a dict, are no key."""
    terms = wire.decode(encoded, Terms)
    try:
        method = make_method(terms.method, make_ranker(terms.ranker, terms.n_features), terms.settings)
    except FoltrError as error:
        raise FederationError(f"the group's terms cannot be followed: {error}") from error
    if not isinstance(method, FPDGD):
        raise FederationError(f"the group learns by {terms.method}; this program takes part in fpdgd")
    return method


def protection_of(terms: Terms) -> Protection:
    """The protection of one round under these terms."""
    method = method_of(terms)
    return Protection(method.privacy, method.weighting != "equal", method.n_sent, terms.floor)


def noise_multiplier(mechanism: Mechanism) -> float | None:
    """Standard deviation of the noise over the clip: of a device's own, or of the sum where it is shared out."""
    if isinstance(mechanism, Gaussian):
        return mechanism.noise_multiplier
    if isinstance(mechanism, Laplace):
        return math.sqrt(2.0) / mechanism.epsilon
    return None


def is_share(mechanism: Mechanism) -> bool:
    """Whether a device adds only a part of the noise: no protection against a server that opens its update."""
    return isinstance(mechanism, FpdgdPaper) or (isinstance(mechanism, (Gaussian, Laplace)) and mechanism.distributed)


def in_words(protection: Protection, *, delta: float) -> Iterator[str]:
    """What these terms mean, for a person, a sentence each."""
    mechanism = protection.mechanism
    yield _what_it_does(mechanism)
    if not protection.hides:
        yield _why_not(protection)
        yield "Nothing is sent under these terms unless federation.allow_unprotected is true."
        return
    absent, other = (protection.epsilon(delta, neighbours) for neighbours in ("zero-out", "replace"))
    yield (
        f"One round costs epsilon {absent:.2f} against your absence, {other:.2f} against any other contribution in "
        f"place of yours (delta {delta:g}). Rounds add up; the smaller the sum, the less the server can tell of you: "
        "below 1 is strong protection, above 10 little."
    )
    noise, needed = protection.relative_noise, protection.members_needed
    if noise is not None and needed is not None:
        yield (
            f"A round has {protection.floor} updates at least: the noise in their mean is then {noise:.1f} times as "
            f"long as the longest possible signal. About {needed:,} are needed for it to be no longer."
        )


def _what_it_does(mechanism: Mechanism) -> str:
    if isinstance(mechanism, NoPrivacy):
        return "Updates leave this device as they are, without noise."
    if isinstance(mechanism, FpdgdPaper):
        return "Updates get a share of the noise of the FPDGD paper, for research."
    share = "a share of noise" if mechanism.distributed else "noise"
    if isinstance(mechanism, Gaussian):
        return (
            f"Each update is cut to length {mechanism.clip:g} and gets Gaussian {share}, "
            f"{mechanism.noise_multiplier:g} times that in each weight."
        )
    return (
        f"Each update is cut to L1 length {mechanism.clip:g} and gets Laplace {share} (epsilon {mechanism.epsilon:g})."
    )


def _why_not(protection: Protection) -> str:
    if isinstance(protection.mechanism, NoPrivacy):
        return (
            "There is no protection: whoever runs the server can work out from an update which results you opened, "
            "when they know the features of your results. Counted as infinite epsilon."
        )
    if protection.exact_count:
        return (
            "Each update also tells exactly how many pages it was learned from, which no noise hides. Counted as "
            "infinite epsilon."
        )
    return (
        "The noise is shared out among the members: it hides you in their sum, but this server opens each update "
        "by itself, where almost nothing is hidden. Counted as infinite epsilon."
    )


HEADERS = {
    "Foltr-Device": "the member's pseudonym, a hash of the key that it made for this group",
    "Foltr-Time": "seconds since 1970",
    "Foltr-Nonce": "32 random hex digits, against replays",
    "Foltr-Signature": "Ed25519 over method, path, hash of the body, time and nonce",
}
"""what signs a request; besides these, Host, User-Agent (foltr-search), Accept-Encoding, Connection, Content-Type and
Content-Length"""

TYPES = {"str": "text", "bytes": "bytes", "int": "number", "bool": "yes or no"}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class SentRecord:
    """One kind of record."""

    name: str
    meaning: str
    fields: tuple[Field, ...]


@cache
def records() -> tuple[SentRecord, ...]:
    """Every record that a device sends, in the order of DEVICE_RECORDS."""
    return tuple(_sent(kind) for kind in DEVICE_RECORDS)


def markdown() -> Iterator[str]:
    """The list as docs/privacy.md holds it, line by line."""
    for sent in records():
        yield f"**{sent.name}**: {sent.meaning}"
        yield ""
        yield "| field | type | meaning |"
        yield "|---|---|---|"
        yield from (f"| `{field.name}` | {field.type} | {field.meaning} |" for field in sent.fields)
        yield ""
    yield "Headers that sign each request:"
    yield ""
    yield "| header | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in HEADERS.items())


def _sent(kind: type[Record]) -> SentRecord:
    fields = tuple(field for base in (kind, Record) for field in _fields(base))
    return SentRecord(kind.__name__, _one_line(kind.__doc__ or ""), fields)


def _fields(kind: type[Record]) -> Iterator[Field]:
    """The fields that a class itself declares, each with the text below it in the source, "" where it needs none."""
    body = next(
        node.body
        for node in ast.parse(inspect.getsource(wire)).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    for declared, after in pairwise([*body, ast.Pass()]):
        if isinstance(declared, ast.AnnAssign) and isinstance(declared.target, ast.Name):
            annotation = ast.unparse(declared.annotation)
            yield Field(declared.target.id, TYPES.get(annotation, annotation), _text(after))


def _text(node: ast.stmt) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    return _one_line(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
