"""Proofs of notes: honest ones pass, each lie fails by its own equation, and a second, slow checker says the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from nacl.bindings import crypto_core_ed25519_add

from foltr.arrays import Int64Vector
from foltr.errors import ValueRangeError
from foltr.federated.sealed import note_proof
from foltr.federated.sealed.note_proof import (
    NoteClaim,
    NoteTerms,
    SecretNoise,
    Statement,
    coins_of,
    drawn_noise,
    false_claims,
    noise_of_coins,
    prove,
)
from foltr.federated.sealed.points import (
    ORDER,
    ORDER_TWO,
    add,
    combine,
    cut,
    generator,
    generators,
    multiply,
    read_scalars,
)
from foltr.federated.sealed.verifiable_sharing import commit
from tests.foltr.federated.sealed import slow_curve

TERMS = NoteTerms(n_numbers=2, n_coins=4, most=5)
SIGNAL = np.array([2, -1])
Signal = Int64Vector


def claimed(
    seed: int = 1,
    *,
    terms: NoteTerms = TERMS,
    signal: Signal = SIGNAL,
    noise: SecretNoise | None = None,
    committed: bytes = b"",
    note: Sequence[int] | None = None,
    coins: tuple[int, ...] | None = None,
) -> NoteClaim:
    """A note with its proof; what is not given is as it must be."""
    rng = np.random.default_rng(seed)
    drawn = drawn_noise(terms, rng)
    committed = committed or drawn.commitment(terms)
    told = coins_of(terms, b"seed %d" % seed)
    noise = noise or drawn
    values = signal + noise_of_coins(terms, noise.bits, coins or told) if note is None else note
    stated = Statement(b"here %d" % seed, committed, coins or told, commit(list(map(int, values)), 77 + seed))
    proof = prove(terms, stated, signal, noise, 77 + seed, rng)
    return NoteClaim(replace(stated, coins=told), proof)


def holds(claim: NoteClaim, terms: NoteTerms = TERMS) -> bool:
    return not false_claims(terms, {"one": claim})


def holds_slowly(terms: NoteTerms, claim: NoteClaim) -> list[bool]:
    """Each of the four equations by itself, by the textbook's curve and the docstring of the module alone."""
    stated, data = claim.statement, claim.proof
    of_signal, a_s, a_e, a_0, t_0, t_1 = (data[at : at + 32] for at in range(0, 192, 32))
    numbers = [int.from_bytes(data[at : at + 32], "little") for at in range(192, len(data), 32)]
    f, (z_s, z_e, z_0, z_t) = numbers[:-4], numbers[-4:]
    text = f"{terms.n_numbers} {terms.n_coins} {terms.most}".encode()
    said = (text, stated.context, stated.committed, bytes(stated.coins), stated.note, of_signal, a_s, a_e, a_0)
    y, norm = slow_curve.asked(b"bits", *said), slow_curve.asked(b"norm", *said)
    x = slow_curve.asked(b"open", *said, t_0, t_1)
    d, n, width = terms.n_numbers, terms.n_coins, 3
    n_signal = d * width + 3
    s = [sum(f[i * width + k] * 2**k for k in range(width)) - 4 * x for i in range(d)]
    slack = sum(f[d * width + k] * 2**k for k in range(3))
    v = [s[i] - n // 2 * x for i in range(d)]
    for i in range(d):
        for j in range(n):
            bit = f[n_signal + i * n + j]
            v[i] += x - bit if stated.coins[i * n + j] else bit
    q = sum(pow(y, k + 1, ORDER) * f[k] * (x - f[k]) for k in range(len(f)))
    q += norm * (sum(one * one for one in s) + x * slack - x * x * terms.most)
    h = slow_curve.hashed_to_group(_seed("blinding", 0))
    bits = [_seed("signal bit", k) for k in range(n_signal)], [_seed("noise bit", k) for k in range(d * n)]
    v_s, v_e = ([slow_curve.hashed_to_group(one) for one in some] for some in bits)
    g = [slow_curve.hashed_to_group(_seed("number", i)) for i in range(d)]
    product = slow_curve.hashed_to_group(_seed("product", 0))
    return [
        slow_curve.total(left, on) == slow_curve.total((x, 1), right)
        for left, on, right in (
            ([*f[:n_signal], z_s], [*v_s, h], (of_signal, a_s)),
            ([*f[n_signal:], z_e], [*v_e, h], (stated.committed, a_e)),
            ([*v, z_0], [*g, h], (stated.note, a_0)),
            ([q, z_t], [product, h], (t_1, t_0)),
        )
    ]


def _seed(label: str, number: int) -> bytes:
    return slow_curve.sha256(f"foltr generator 1\n{label}\n{number}")


@pytest.mark.parametrize("signal", [[0, 0], [2, -1], [-1, 2], [-2, 1], [0, -2], [1, 1]])
def test_an_honest_note_is_proved(signal: list[int]) -> None:
    """Whatever the signal within the ball, and whatever the bits; the second checker agrees with each equation."""
    claims = {str(seed): claimed(seed, signal=np.array(signal)) for seed in range(4)}
    assert false_claims(TERMS, claims) == ()
    if signal == [2, -1]:
        assert holds_slowly(TERMS, claims["1"]) == [True] * 4


def test_a_signal_beyond_the_ball_has_no_proof() -> None:
    """2^2 + 2^2 is more than 5, and the sender is told so before anything else happens."""
    with pytest.raises(ValueRangeError, match="squared length 8 is beyond 5"):
        claimed(signal=np.array([2, 2]))


def test_sizes_are_those_of_the_documentation() -> None:
    """Points and scalars of 32 bytes: 6, one for each bit, and 4; at the real sizes 81.8, 41.8 and 21.8 KiB."""
    sizes = [NoteTerms(10, n, c).proof_bytes / 1024 for n, c in ((256, 40), (128, 33), (64, 53))]
    assert [round(size, 1) for size in sizes] == [81.8, 41.8, 21.8]
    assert len(claimed().proof) == TERMS.proof_bytes == 32 * (6 + 9 + 8 + 4)


def test_at_the_real_size_a_claim_is_checked() -> None:
    """Ten numbers of 64 coins, as thirty members send."""
    terms = NoteTerms(10, 64, 53)
    claim = claimed(terms=terms, signal=np.array([3, -3, 3, 2, -2, 0, 1, 0, 0, 4]))
    assert holds(claim, terms)


# What a liar does, and the equation by which it fails.


def other_bits(claim: NoteClaim | None = None) -> NoteClaim:
    """(2): other bits of noise than those that were committed to."""
    drawn = drawn_noise(TERMS, np.random.default_rng(1))
    flipped = replace(drawn, bits=tuple(1 - bit for bit in drawn.bits))
    return claimed(noise=flipped, committed=drawn.commitment(TERMS))


def another_note() -> NoteClaim:
    """(3): shares of another note than the proved one."""
    return claimed(note=[1000, -1000])


def no_noise() -> NoteClaim:
    """(3): the signal alone."""
    return claimed(note=SIGNAL.tolist())


def own_coins() -> NoteClaim:
    """(3): coins of one's own choice."""
    return claimed(coins=(1,) * 8)


def wrapped() -> NoteClaim:
    """(3): a half modulo the order in the place of a number."""
    return claimed(note=[pow(2, -1, ORDER), 0])


LIES: list[tuple[Callable[[], NoteClaim], int]] = [
    (other_bits, 1),
    (another_note, 2),
    (no_noise, 2),
    (own_coins, 2),
    (wrapped, 2),
]


@pytest.mark.parametrize(("lie", "equation"), LIES)
def test_each_lie_fails_by_its_own_equation(
    lie: Callable[[], NoteClaim], equation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused; left out of the check, that one equation lets it pass, and no other does."""
    if lie is own_coins:  # the transcript names the coins: a liar who argues about its own has to say so
        assert not holds(own_coins())
        return
    claim = lie()
    assert not holds(claim)
    assert holds_slowly(TERMS, claim) == [at != equation for at in range(4)]
    for left_out in range(4):
        with monkeypatch.context() as patch:
            patch.setattr(note_proof, "_equations", without(left_out))
            assert holds(claim) == (left_out == equation)


def without(left_out: int) -> Callable[[NoteTerms, NoteClaim], object]:
    """A checker that forgets one equation."""
    made = note_proof._equations

    def forgetful(terms: NoteTerms, claim: NoteClaim) -> object:
        found = made(terms, claim)
        keep = [at for at in range(4) if at != left_out]
        return note_proof._Equations(
            tuple(found.on_bases[at] for at in keep), tuple(found.on_points[at] for at in keep)
        )

    return forgetful


def signal_bits_of(bits: Sequence[int]) -> Callable[..., list[int]]:
    return lambda *arguments: list(bits)


def of_any_numbers(bits: Sequence[int], bases: Sequence[bytes], blinding: int) -> bytes:
    """A commitment that is none to bits."""
    return combine((*bits, blinding), (*bases, generator("blinding", 0)))


BITS = [0, 1, 1, 1, 1, 0, 0, 0, 0]
"""of 2 + 4, -1 + 4, and the slack 0"""


@pytest.mark.parametrize(
    ("bits", "why"),
    [
        ([2, 0, 1, *BITS[3:]], "a bit that is 2"),
        ([0, -1, 2, *BITS[3:]], "a bit that is -1"),
        ([0, 1, 1, 0, 1, 1, 0, 0, 0], "2 and 2, with a slack of 0"),
        ([0, 1, 1, 0, 1, 1, -3, 0, 0], "2 and 2, with a slack of -3"),
        ([1, 1, 1, 1, 1, 0, -5, 0, 0], "3 and -1, with a slack of -5"),
    ],
)
def test_bits_are_bits_and_the_signal_is_within_the_ball(
    bits: list[int], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the fourth equation alone: a prover that keeps to all others is refused."""
    numbers = [sum(bit << at for at, bit in enumerate(bits[i : i + 3])) - 4 for i in (0, 3)]
    noise = drawn_noise(TERMS, np.random.default_rng(1))
    note = np.array(numbers) + noise_of_coins(TERMS, noise.bits, coins_of(TERMS, b"seed 1"))
    with monkeypatch.context() as patch:
        patch.setattr(note_proof, "_signal_bits", signal_bits_of(bits))
        patch.setattr(note_proof, "_of_bits", of_any_numbers)
        claim = claimed(note=note.tolist())
    assert not holds(claim), why
    monkeypatch.setattr(note_proof, "_equations", without(3))
    assert holds(claim)


def test_the_signals_bits_are_those_that_were_committed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """(1): the proof opens other bits than B_S holds."""
    made = note_proof._of_bits
    with monkeypatch.context() as patch:
        patch.setattr(note_proof, "_of_bits", lambda bits, *rest: made([1 - b for b in bits], *rest))
        claim = claimed(committed=drawn_noise(TERMS, np.random.default_rng(1)).commitment(TERMS))
    drawn = drawn_noise(TERMS, np.random.default_rng(1))
    fixed = claimed_with_signal_commitment(lambda right: add(right, generator("product", 0)))
    assert drawn.bits
    assert not holds(claim)
    assert holds_slowly(TERMS, fixed) == [False, True, True, True]


def claimed_with_signal_commitment(change: Callable[[bytes], bytes], noise: SecretNoise | None = None) -> NoteClaim:
    """A proof whose B_S is another, before anything is hashed."""
    made, drawn = note_proof._of_bits, drawn_noise(TERMS, np.random.default_rng(1))
    committed = drawn.commitment(TERMS)
    patched = pytest.MonkeyPatch()
    patched.setattr(note_proof, "_of_bits", lambda *arguments: change(made(*arguments)))
    try:
        return claimed(noise=noise, committed=committed)
    finally:
        patched.undo()


def test_two_commitments_are_not_opened_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits of the noise that are flipped after the coins were seen, the difference hidden among the signal's: a
    checker of the sum of both equations takes it, the real one does not."""
    drawn = drawn_noise(TERMS, np.random.default_rng(1))
    flipped = tuple(1 - bit if at < 3 else bit for at, bit in enumerate(drawn.bits))
    moved = combine(
        [new - old for new, old in zip(flipped, drawn.bits, strict=True)], generators("noise bit", TERMS.n_noise_bits)
    )
    claim = claimed_with_signal_commitment(lambda right: add(right, moved), replace(drawn, bits=flipped))
    assert not holds(claim)
    made = note_proof._equations

    def joined(terms: NoteTerms, one: NoteClaim) -> object:
        found = made(terms, one)
        (s, e, *bases), (p, q, *points) = found.on_bases, found.on_points
        both = {at: s.get(at, 0) + e.get(at, 0) for at in {*s, *e}}
        return note_proof._Equations((both, *bases), ((*p, *q), *points))

    monkeypatch.setattr(note_proof, "_equations", joined)
    assert holds(claim)


def test_a_proof_is_for_one_statement() -> None:
    """Another round or sender, other coins, another commitment, another note, other terms: refused."""
    claim = claimed()
    stated, other = claim.statement, claimed(2).statement
    for changed in (
        replace(stated, context=b"elsewhere"),
        replace(stated, coins=tuple(1 - coin for coin in stated.coins)),
        replace(stated, committed=other.committed),
        replace(stated, note=other.note),
        other,
    ):
        assert not holds(NoteClaim(changed, claim.proof))
    assert not holds(claim, NoteTerms(2, 4, 6))
    assert holds(claim)


def altered(proof: bytes) -> Mapping[str, bytes]:
    """Every point turned into another one, every scalar off by one, and what is no proof at all."""
    pieces, found = cut(proof), {}
    for at, piece in enumerate(pieces):
        number = (int.from_bytes(piece, "little") + 1) % ORDER
        other = multiply(2, piece) if at < 6 else number.to_bytes(32, "little")
        found[f"piece {at}"] = b"".join((*pieces[:at], other, *pieces[at + 1 :]))
    pieces[6] = (int.from_bytes(pieces[6], "little") + ORDER).to_bytes(32, "little")
    return found | {
        "a scalar not reduced": b"".join(pieces),
        "longer": proof + bytes(32),
        "shorter": proof[:-32],
        "ragged": proof[:-1],
        "empty": b"",
        "identity": (1).to_bytes(32, "little") + proof[32:],
        "small order": ORDER_TWO + proof[32:],
        "no point": b"\xff" * 32 + proof[32:],
    }


def test_an_altered_proof_is_refused_and_named() -> None:
    """Each of them, alone and among good ones."""
    good = claimed()
    claims = {name: NoteClaim(good.statement, proof) for name, proof in altered(good.proof).items()}
    assert false_claims(TERMS, claims) == tuple(sorted(claims))
    few = {"good": good, "piece 0": claims["piece 0"], "fine": claimed(2), "empty": claims["empty"]}
    assert false_claims(TERMS, few) == ("empty", "piece 0")


@pytest.mark.parametrize("where", ["committed", "note"])
def test_points_of_small_order_are_refused(where: str) -> None:
    """Mixed into a commitment they would pass for one half of all weights: honest checkers would disagree."""
    claim = claimed()
    mixed = crypto_core_ed25519_add(getattr(claim.statement, where), ORDER_TWO)
    assert not any(holds(NoteClaim(replace(claim.statement, **{where: mixed}), claim.proof)) for _ in range(8))


@pytest.mark.parametrize("liars", [(), ("2",), ("0", "6"), ("1", "2", "3"), tuple("0123456")])
def test_liars_are_found_among_many(liars: tuple[str, ...]) -> None:
    """Exactly those, by halves."""
    good, bad = claimed(1), NoteClaim(claimed(1).statement, claimed(2).proof)
    claims = {name: bad if name in liars else good for name in "0123456"}
    assert false_claims(TERMS, claims) == liars


def test_lies_that_cancel_are_found() -> None:
    """Two proofs, the one off by as much as the other is the other way: each has weights of its own."""
    good = claimed()
    pieces = cut(good.proof)
    off = [(int.from_bytes(pieces[-1], "little") + by) % ORDER for by in (1, -1)]
    pair = [NoteClaim(good.statement, b"".join((*pieces[:-1], one.to_bytes(32, "little")))) for one in off]
    assert false_claims(TERMS, dict(zip("ab", pair, strict=True))) == ("a", "b")


def test_masks_are_used_once() -> None:
    """The same generator for two statements masks otherwise; for the same one the proof is the same, byte for byte.

    The same masks under two challenges would give every bit away: b = (f - f') / (x - x').
    """
    same = [claimed(coins=coins).proof for coins in ((0,) * 8, (0,) * 8, (1,) * 8)]
    assert same[0] == same[1]
    assert not set(cut(same[0])[1:4]) & set(cut(same[2])[1:4])


def test_nothing_of_a_proof_tells_a_bit_by_itself() -> None:
    """The answers' top bits are spread evenly, whatever the bits: chi-square below what 7 degrees exceed once in a
    million times (39.8)."""
    terms = NoteTerms(2, 400, 5)
    counts = np.zeros(8)
    for number in read_scalars(claimed(terms=terms).proof[192:]):
        counts[min(number * 8 // ORDER, 7)] += 1
    assert ((counts - counts.sum() / 8) ** 2 / (counts.sum() / 8)).sum() < 39.8


def test_the_noise_is_fair_whatever_bits_a_liar_commits_to() -> None:
    """All ones, all zeros, or drawn: with coins drawn after them the mean is 0 and the variance N / 4, to four standard
    errors of a thousand numbers."""
    terms = NoteTerms(1000, 64, 5)
    coins = coins_of(terms, b"drawn later")
    for bits in ((0,) * 64_000, (1,) * 64_000, drawn_noise(terms, np.random.default_rng(1)).bits):
        noise = noise_of_coins(terms, bits, coins)
        assert abs(noise.mean()) < 4 * np.sqrt(16 / 1000)
        assert abs(noise.var() - 16) < 4 * 16 * np.sqrt(2 / 1000)
    assert noise_of_coins(TERMS, (1, 1, 0, 0, 0, 0, 0, 0), (0, 1, 1, 1, 0, 0, 0, 0)).tolist() == [1, -2]
