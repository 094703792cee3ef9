"""What a group's terms mean for one device: how well the noise hides it, what is left of the signal, and what leaves.

How loud the noise is beside what members can say is `foltr.privacy.accounting.noise_over_signal`. All epsilons here
are for a device's whole contribution, against the server: in an open group it opens each single update, in a sealed one
it learns the sum. foltr.federated.sealed.committee says with how many members on its side it would learn more;
app.federation.consent puts all of this into words.

What leaves is read from the definitions of the records that are sent: `foltr-search privacy --records` prints it,
docs/privacy.md holds it, and tests compare both with the records and with what is seen on the wire.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal

import msgspec

from app.federation.failures import FederationError
from foltr.errors import FoltrError
from foltr.federated import wire
from foltr.federated.fpdgd import FPDGD
from foltr.federated.registry import make_method
from foltr.federated.sealed.committee import least_members, n_parts, quorums
from foltr.privacy.accounting import Against, Caps, Ledger, mu_of, noise_over_signal
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism
from foltr.ranking.rankers import make_ranker
from indexer.retrieval.features import NAMES


class Protection(msgspec.Struct, frozen=True):
    """What some terms do to hide a member: for one round, and for a whole period."""

    mechanism: Mechanism
    exact_count: bool
    """whether the number of pages replayed is sent exactly, without noise"""
    n_params: int
    """numbers that an update holds"""
    floor: int
    """least number of updates in a round"""
    mode: Literal["open", "sealed", "grouped"] = "open"
    caps: Caps | None = None
    """bounds on what a page and a query can change; None where nothing is proven of them"""
    shared: tuple[str, ...] = ()
    """features whose weights are sent; (): all"""
    n_rounds: int = 0
    """rounds in a period; 0: no limit"""
    period_days: int = 365
    n_local: int = 40
    """most pages that an update is learned from"""

    @property
    def counted(self) -> int:
        """Rounds of a period, or one where there is no limit."""
        return self.n_rounds or 1

    @property
    def hides(self) -> bool:
        """Whether there is any guarantee against the best-placed observer (see above)."""
        return math.isfinite(self.epsilon(1e-5, "zero-out"))

    def epsilon(self, delta: float, neighbours: str, *, n_rounds: int = 1) -> float:
        """The epsilon of so many rounds, against the server; inf where nothing is guaranteed."""
        if self.exact_count or not self._is_whole:
            return math.inf
        spent = Ledger(self.n_params).spend(self.mechanism, n_rounds)
        against: Against = "server" if self.mode == "open" else "sum"
        return spent.epsilon(delta, neighbours="replace" if neighbours == "replace" else "zero-out", against=against)

    def opened(self, n_honest: int) -> Protection:
        """The protection left when single notes of a sealed group are read, each with one of `n_honest` shares."""
        alone = self.mechanism
        if isinstance(alone, Gaussian):
            part = alone.noise_multiplier / math.sqrt(n_honest)
            alone = msgspec.structs.replace(alone, noise_multiplier=part, distributed=False)
        return msgspec.structs.replace(self, mechanism=alone, mode="open")

    @property
    def mu_query(self) -> float | None:
        """How far apart two answers for all pages of one query can be in a period; None where nothing is proven."""
        return None if self.caps is None else self._mu(self.caps.query("replace"), self.counted)

    @property
    def mu_device(self) -> float | None:
        """How far apart a period with these pages and one with any others can be; None where nothing is proven."""
        return None if self.caps is None else self._mu(self.caps.device("replace"), self.counted)

    @property
    def _is_whole(self) -> bool:
        """Whether what can be seen surely holds all of the noise; a sum of Laplace shares may lack some."""
        if isinstance(self.mechanism, Gaussian):
            return self.mode != "open" or not self.mechanism.distributed
        return not is_share(self.mechanism)

    def _mu(self, change: float, n_rounds: int) -> float | None:
        if not isinstance(self.mechanism, Gaussian) or not self.hides:
            return None
        return mu_of(change, noise=self.mechanism.noise_multiplier * self.mechanism.clip, n_rounds=n_rounds)

    @property
    def noise_over_signal(self) -> float | None:
        """How far a period's noise moves the smallest group's ranker, over how far its members can; None: unknown."""
        mechanism, n_answers = self.mechanism, self.floor
        if self.mode != "open" and isinstance(mechanism, Gaussian):
            n_members = least_members(self.mode)
            held = quorums(n_members, self.mode)
            n_answers = held.least * n_parts(n_members, self.mode)
            mechanism = msgspec.structs.replace(mechanism, n_clients=held.n_honest)
        return noise_over_signal(mechanism, n_params=self.n_params, counts=[n_answers] * self.counted)


def method_of(terms: wire.Terms) -> FPDGD:
    """The method that the group's terms set; FederationError for one in which this program cannot take part."""
    return _make_method(wire.encode(terms))


@lru_cache(maxsize=2)
def _make_method(encoded: bytes) -> FPDGD:
    """Cached by the terms' bytes: one sync asks four times, and terms hold a dict, which cannot be a cache key."""
    terms = wire.decode(encoded, wire.Terms)
    try:
        method = make_method(terms.method, make_ranker(terms.ranker, terms.n_features), terms.settings)
    except FoltrError as error:
        raise FederationError(f"the group's terms cannot be followed: {error}") from error
    if not isinstance(method, FPDGD):
        raise FederationError(f"the group learns by {terms.method}; this program takes part in fpdgd")
    return method


def protection_of(terms: wire.Terms) -> Protection:
    method = method_of(terms)
    linear = terms.ranker == "linear" and max(method.shared, default=0) < len(NAMES)
    return Protection(
        mechanism=method.privacy,
        exact_count=method.weighting != "equal",
        n_params=method.n_sent,
        floor=terms.floor,
        mode=terms.mode,
        caps=method.caps(terms.n_local),
        shared=tuple(NAMES[index] for index in method.shared) if linear else (),
        n_rounds=terms.n_rounds,
        period_days=terms.period_days,
        n_local=terms.n_local,
    )


def is_share(mechanism: Mechanism) -> bool:
    """Whether a device adds only a part of the noise: no protection against a server that opens its update."""
    return isinstance(mechanism, FpdgdPaper) or (isinstance(mechanism, (Gaussian, Laplace)) and mechanism.distributed)


HEADERS = {
    "Foltr-Device": "the member's pseudonym, a hash of the key that it made for this group",
    "Foltr-Time": "seconds since 1970",
    "Foltr-Nonce": "32 random hex digits, against replays",
    "Foltr-Signature": "Ed25519 over method, path, hash of the body, time and nonce",
}
"""what signs a request, beside Host, User-Agent (foltr-search), Accept-Encoding, Connection, Content-Type, -Length"""

TYPES = {
    "str": "text",
    "bytes": "bytes",
    "Number": "number",
    "bool": "yes or no",
    "Signed": "what the server signed",
    "tuple[RosterEntry, ...]": "entries of the roster",
    "tuple[str, ...]": "texts",
}


class Field(msgspec.Struct, frozen=True):
    name: str
    type: str
    meaning: str


class SentRecord(msgspec.Struct, frozen=True):
    name: str
    meaning: str
    fields: tuple[Field, ...]


@cache
def records() -> tuple[SentRecord, ...]:
    """Every record that a device sends, in the order of DEVICE_RECORDS."""
    return tuple(
        SentRecord(kind.__name__, _one_line(kind.__doc__ or ""), tuple(_fields(kind))) for kind in wire.DEVICE_RECORDS
    )


def _fields(kind: type[wire.Record]) -> Iterator[Field]:
    """The fields of a record, each with the text below it in the source, "" where it needs none."""
    declared = {name: field for base in kind.__mro__ for name, field in _declared().get(base.__name__, {}).items()}
    for name in kind.__struct_fields__:
        yield declared[name]


@cache
def _declared() -> dict[str, dict[str, Field]]:
    """What each class of the wire declares itself, by name."""
    found: dict[str, dict[str, Field]] = {}
    for node in ast.parse(inspect.getsource(wire)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for declared, after in pairwise([*node.body, ast.Pass()]):
            if isinstance(declared, ast.AnnAssign) and isinstance(declared.target, ast.Name):
                name, annotation = declared.target.id, ast.unparse(declared.annotation)
                field = Field(name, TYPES.get(annotation, annotation), _text(after))
                found.setdefault(node.name, {})[name] = field
    return found


def _text(node: ast.stmt) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    return _one_line(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
