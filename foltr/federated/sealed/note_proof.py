"""A proof that a note is no longer than it may be and that its noise follows the coins, without revealing any of it.

    the note    v_i = s_i + e_i,    e_i = sum over j of (b_ij XOR p_ij) - N/2,    i = 1, ..., d
    proved      who sends it knows s, b and the blindings with
                  each b_ij is 0 or 1, and committed to in B_E before the coins p_ij were known
                  s_1^2 + ... + s_d^2 <= C
                  the sharing's first commitment C_0 = sum of v_i G_i + r H is to this very note

The signal s may be any within the clip (C is its square in units of the grid). The noise is that of N fair coins a
number, whatever the sender does: b is fixed when p is drawn, so b XOR p is as random as p (Biswas and Cormode,
"Interactive proofs for differentially private counting", CCS 2023).

How. Bits of s_i + 2^(m-1) (m bits) and of the slack C - |s|^2 are committed to in B_S, generators V_k for all bits.
With masks a and A_S, A_E, A_0 of them, every f = b X + a is linear in the unknown X. Everything that is not linear is
folded into

    Q(X) = sum over k of y^k f_k (X - f_k)  +  y' (sum over i of s_i(X)^2 + X slack(X) - X^2 C)

whose X^2 term is 0 if and only if all bits are bits and the norm holds (but for a chance of 2^-240); T_0 and T_1 commit
to the other two. For one x the sender opens the combinations:

    (1)  <f_S, V> + z_S H = x B_S + A_S             (3)  <lin(f), G> + z_0 H = x C_0 + A_0
    (2)  <f_E, V> + z_E H = x B_E + A_E             (4)  Q(x) G + z_T H = x T_1 + T_0

B_S and B_E stay apart: if they were opened as one sum, a sender that has seen the coins could change one and balance it
in the other. (Vectors of bits as in Groth and Kohlweiss, EUROCRYPT 2015, and Bootle et al., ESORICS 2015; all
conditions in one polynomial as in Buenz et al., "Bulletproofs", S&P 2018, without its recursion.) y, y' and x are
hashed from the whole statement and all that was sent (foltr.federated.sealed.points.challenge). It is sound if discrete
logarithms are hard, in the random oracle model; it hides perfectly, whoever computes. No outsider has reviewed it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import nacl.utils
import numpy as np
from msgspec import Struct

from foltr.arrays import Int64Vector
from foltr.errors import ValueRangeError
from foltr.federated.sealed.points import (
    IDENTITY,
    ORDER,
    SIZE,
    PointError,
    add,
    challenge,
    check_points,
    combine,
    cut,
    generator,
    generators,
    read_scalars,
    scalar_bytes,
)
from foltr.federated.sealed.verifiable_sharing import Scalars, stream_scalars

N_POINTS, N_CLOSING = 6, 4
"""of a proof: B_S, A_S, A_E, A_0, T_0, T_1; z_S, z_E, z_0, z_T"""


class NoteTerms(Struct, frozen=True, dict=True):
    """The numbers by which all notes of a round are made."""

    n_numbers: int
    """d"""
    n_coins: int
    """N, even"""
    most: int
    """C, of |s|^2 in units of the grid"""

    @property
    def width(self) -> int:
        """m: bits of s_i + 2^(m-1)."""
        return math.isqrt(self.most).bit_length() + 1

    @property
    def n_signal_bits(self) -> int:
        """Those of the numbers, then those of the slack."""
        return self.n_numbers * self.width + self.most.bit_length()

    @property
    def n_noise_bits(self) -> int:
        """d N, number by number."""
        return self.n_numbers * self.n_coins

    @property
    def proof_bytes(self) -> int:
        return SIZE * (N_POINTS + self.n_signal_bits + self.n_noise_bits + N_CLOSING)

    @cached_property
    def bases(self) -> tuple[bytes, ...]:
        """V for the signal's bits and then for the noise's, G_i, G, H."""
        bits = generators("signal bit", self.n_signal_bits) + generators("noise bit", self.n_noise_bits)
        return (*bits, *generators("number", self.n_numbers), generator("product", 0), generator("blinding", 0))

    @property
    def text(self) -> bytes:
        """All of it, for a transcript."""
        return f"{self.n_numbers} {self.n_coins} {self.most}".encode()


class SecretNoise(Struct, frozen=True):
    """The bits b, and the blinding of the commitment to them."""

    bits: tuple[int, ...]
    blinding: int

    def commitment(self, terms: NoteTerms) -> bytes:
        """B_E = <b, V> + rho H."""
        return _of_bits(self.bits, generators("noise bit", terms.n_noise_bits), self.blinding)


class Statement(Struct, frozen=True):
    context: bytes
    """of the message"""
    committed: bytes
    """B_E"""
    coins: tuple[int, ...]
    """p, bits"""
    note: bytes
    """C_0"""

    def said(self, terms: NoteTerms) -> tuple[bytes, ...]:
        return terms.text, self.context, self.committed, bytes(self.coins), self.note


def drawn_noise(terms: NoteTerms, rng: np.random.Generator) -> SecretNoise:
    """Fair secret bits: ChaCha20 under 32 bytes of `rng`."""
    n = terms.n_noise_bits
    stream = np.frombuffer(nacl.utils.randombytes_deterministic(-(-n // 8), rng.bytes(32)), dtype=np.uint8)
    (blinding,) = stream_scalars(1, rng.bytes(32))
    return SecretNoise(tuple(map(int, np.unpackbits(stream)[:n])), blinding)


def coins_of(terms: NoteTerms, seed: bytes) -> tuple[int, ...]:
    """Public bits from a seed that nobody chose: SHAKE-256."""
    stream = hashlib.shake_256(b"foltr coins 1\n" + seed).digest(-(-terms.n_noise_bits // 8))
    return tuple(map(int, np.unpackbits(np.frombuffer(stream, dtype=np.uint8))[: terms.n_noise_bits]))


def noise_of_coins(terms: NoteTerms, bits: Sequence[int], coins: Sequence[int]) -> Int64Vector:
    """e `[n_numbers]`: the heads of each number's coins, less half of them."""
    turned = np.array(bits, dtype=np.int64) ^ np.array(coins, dtype=np.int64)
    heads: Int64Vector = turned.reshape(terms.n_numbers, terms.n_coins).sum(axis=1)
    return heads - terms.n_coins // 2


def prove(
    terms: NoteTerms,
    statement: Statement,
    signal: Int64Vector,
    noise: SecretNoise,
    note_blinding: int,
    rng: np.random.Generator,
) -> bytes:
    """The proof; ValueRangeError for a signal that is too long. Equal arguments give equal bytes.

    Masks come from `rng`, the secrets and the whole statement together: used twice, they would give all bits away.
    """
    slack = terms.most - int(signal @ signal)
    if slack < 0:
        raise ValueRangeError(f"a signal of squared length {terms.most - slack} is beyond {terms.most}")
    bits = (*_signal_bits(terms, signal, slack), *noise.bits)
    n, secrets = len(bits), (noise.blinding, note_blinding, *bits)
    masks, (rho, *alpha, tau_0, tau_1) = _masks(terms, statement, secrets, n, rng)
    cut_at, blind = terms.n_signal_bits, terms.bases[-1]
    signal_bases, noise_bases = terms.bases[:cut_at], terms.bases[cut_at:n]
    of_signal = _of_bits(bits[:cut_at], signal_bases, rho)
    opened = [
        combine((*masks[:cut_at], alpha[0]), (*signal_bases, blind)),
        combine((*masks[cut_at:], alpha[1]), (*noise_bases, blind)),
        combine((*_note(terms, statement.coins, masks, 0), alpha[2]), (*terms.bases[n:-2], blind)),
    ]
    said = (*statement.said(terms), of_signal, *opened)
    y, norm = challenge(b"bits", *said), challenge(b"norm", *said)
    at_0, at_1 = _products(terms, bits, masks, y, norm)
    products = [combine(pair, terms.bases[-2:]) for pair in ((at_0, tau_0), (at_1, tau_1))]
    x = challenge(b"open", *said, *products)
    answers = [bit * x + mask for bit, mask in zip(bits, masks, strict=True)]
    blindings = zip((rho, noise.blinding, note_blinding, tau_1), (*alpha, tau_0), strict=True)
    closing = [x * blinding + mask for blinding, mask in blindings]
    return b"".join((of_signal, *opened, *products, *map(scalar_bytes, (*answers, *closing))))


def _masks(
    terms: NoteTerms, statement: Statement, secrets: Sequence[int], n: int, rng: np.random.Generator
) -> tuple[Scalars, Scalars]:
    """n masks, and six blindings: of B_S, A_S, A_E, A_0, T_0, T_1."""
    told = hashlib.sha512(rng.bytes(32) + repr(secrets).encode() + repr(statement.said(terms)).encode())
    drawn = stream_scalars(n + N_POINTS, told.digest()[:32])
    return drawn[:n], drawn[n:]


class NoteClaim(Struct, frozen=True):
    """A statement with its proof."""

    statement: Statement
    proof: bytes


def false_claims(terms: NoteTerms, claims: Mapping[str, NoteClaim]) -> tuple[str, ...]:
    """Names of those that do not hold: all are checked at once and, if that fails, by halves."""
    read: dict[str, _Equations] = {}
    false = []
    for name, claim in claims.items():
        try:
            read[name] = _equations(terms, claim)
        except PointError:
            false.append(name)
    return tuple(sorted((*false, *_halved(terms, read))))


def _halved(terms: NoteTerms, read: Mapping[str, _Equations]) -> list[str]:
    if not read or _hold(terms, list(read.values())):
        return []
    names = list(read)
    if len(names) == 1:
        return names
    halves = names[: len(names) // 2], names[len(names) // 2 :]
    return [name for half in halves for name in _halved(terms, {one: read[one] for one in half})]


class _Equations(Struct, frozen=True):
    """Four sums that must be the identity, each of `terms.bases` and points of its own."""

    on_bases: tuple[Mapping[int, int], ...]
    """scalars by place in the bases"""
    on_points: tuple[tuple[tuple[int, bytes], ...], ...]


def _equations(terms: NoteTerms, claim: NoteClaim) -> _Equations:
    """Those of one claim; PointError for a proof of another length, or with what is no point or scalar."""
    statement, proof = claim.statement, claim.proof
    if len(proof) != terms.proof_bytes or len(statement.coins) != terms.n_noise_bits:
        raise PointError("a proof has another length")
    points = cut(proof[: N_POINTS * SIZE])
    check_points([*points, statement.committed, statement.note])
    scalars = read_scalars(proof[N_POINTS * SIZE :])
    answers, (z_s, z_e, z_0, z_t) = scalars[:-N_CLOSING], scalars[-N_CLOSING:]
    of_signal, a_s, a_e, a_0, t_0, t_1 = points
    said = (*statement.said(terms), of_signal, a_s, a_e, a_0)
    y, norm, x = challenge(b"bits", *said), challenge(b"norm", *said), challenge(b"open", *said, t_0, t_1)
    n, cut_at, last = len(answers), terms.n_signal_bits, len(terms.bases) - 1
    note = _note(terms, statement.coins, answers, x)
    return _Equations(
        (
            dict(enumerate(answers[:cut_at])) | {last: z_s},
            dict(enumerate(answers[cut_at:], cut_at)) | {last: z_e},
            dict(enumerate(note, n)) | {last: z_0},
            {last - 1: _value(terms, answers, x, y, norm), last: z_t},
        ),
        (
            ((-x, of_signal), (-1, a_s)),
            ((-x, statement.committed), (-1, a_e)),
            ((-x, statement.note), (-1, a_0)),
            ((-x, t_1), (-1, t_0)),
        ),
    )


def _hold(terms: NoteTerms, all_equations: Sequence[_Equations]) -> bool:
    """Whether every equation holds, but for chance 2^-127: one sum of all, each times a weight of its own.

    (Bellare, Garay and Rabin, "Fast batch verification", EUROCRYPT 1998.) The weights are drawn here, after the proofs.
    """
    on_bases = [0] * len(terms.bases)
    weighed: list[tuple[int, bytes]] = []
    for one in all_equations:
        for places, points in zip(one.on_bases, one.on_points, strict=True):
            weight = int.from_bytes(nacl.utils.random(16), "little") + 1
            for place, scalar in places.items():
                on_bases[place] += weight * scalar
            weighed += [(weight * scalar, point) for scalar, point in points]
    scalars = [*on_bases, *(scalar for scalar, _ in weighed)]
    return combine(scalars, [*terms.bases, *(point for _, point in weighed)]) == IDENTITY


def _of_bits(bits: Sequence[int], bases: Sequence[bytes], blinding: int) -> bytes:
    """<bits, bases> + blinding H, an addition for each, whatever the bit."""
    chosen = [base if bit else IDENTITY for bit, base in zip(bits, bases, strict=True)]
    return add(combine((blinding,), (generator("blinding", 0),)), *chosen)


def _signal_bits(terms: NoteTerms, signal: Int64Vector, slack: int) -> list[int]:
    """Lowest first, of each number, then of the slack."""
    rows = [(int(number) + (1 << terms.width - 1), terms.width) for number in signal]
    return [
        number >> place & 1 for number, width in (*rows, (slack, terms.most.bit_length())) for place in range(width)
    ]


def _signal(terms: NoteTerms, values: Sequence[int], x: int) -> tuple[list[int], int]:
    """s_i(x), and slack(x), of values that stand for the bits: linear, the constants times x."""
    width, end = terms.width, terms.n_numbers * terms.width
    numbers = [_binary(values[at : at + width]) - (x << width - 1) for at in range(0, end, width)]
    return numbers, _binary(values[end : terms.n_signal_bits])


def _binary(values: Sequence[int]) -> int:
    return sum(value << place for place, value in enumerate(values))


def _note(terms: NoteTerms, coins: Sequence[int], values: Sequence[int], x: int) -> Scalars:
    """lin: v_i of values that stand for the bits, the constants times x."""
    numbers, _ = _signal(terms, values, x)
    noise, n = values[terms.n_signal_bits :], terms.n_coins
    turned = [x - value if coin else value for value, coin in zip(noise, coins, strict=True)]
    return tuple(
        (number + sum(turned[at * n : (at + 1) * n]) - n // 2 * x) % ORDER for at, number in enumerate(numbers)
    )


def _value(terms: NoteTerms, values: Sequence[int], x: int, y: int, norm: int) -> int:
    """Q(x)."""
    total, power = 0, 1
    for value in values:
        power = power * y % ORDER
        total += power * value % ORDER * (x - value)
    numbers, slack = _signal(terms, values, x)
    squares = sum(number * number for number in numbers)
    return (total + norm * (squares + x * slack - x * x * terms.most)) % ORDER


def _products(terms: NoteTerms, bits: Sequence[int], masks: Sequence[int], y: int, norm: int) -> tuple[int, int]:
    """The coefficients of Q at X^0 and X^1, for bits that are bits: f (X - f) = (1 - 2 b) a X - a^2."""
    at_0, at_1, power = 0, 0, 1
    for bit, mask in zip(bits, masks, strict=True):
        power = power * y % ORDER
        at_0 -= power * mask % ORDER * mask
        at_1 += power * (1 - 2 * bit) * mask
    numbers, _ = _signal(terms, bits, 1)
    masked, slack = _signal(terms, masks, 0)
    at_0 += norm * sum(mask * mask for mask in masked)
    at_1 += norm * (2 * sum(number * mask for number, mask in zip(numbers, masked, strict=True)) + slack)
    return at_0 % ORDER, at_1 % ORDER
