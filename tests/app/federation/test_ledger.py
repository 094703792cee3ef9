"""The privacy ledger: only grows, adds up exactly, and holds against the server."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from app.federation import ledger
from app.federation.consent import in_words
from app.federation.failures import SpentError
from app.federation.ledger import LedgerEntry, Upload
from app.federation.terms import Protection
from app.settings import FederationSettings
from app.store import StateError, Store
from foltr.privacy.accounting import Ledger, gaussian_epsilon
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism, NoPrivacy

LOCAL = Gaussian(clip=0.5, noise_multiplier=4.0)
SHARED = Gaussian(clip=0.5, noise_multiplier=4.0, distributed=True, n_clients=10)


def entry(number: int, mechanism: Mechanism = LOCAL, *, exact_count: bool = False) -> LedgerEntry:
    return LedgerEntry(
        time=1, group_id="g", lineage=1, round=number, n_params=56, mechanism=mechanism, exact_count=exact_count
    )


def spend(store: Store, number: int, mechanism: Mechanism = LOCAL) -> Upload:
    upload = Upload(1, number, b"sealed", "waiting", 0, 5)
    return ledger.write_upload(store, upload, entry(number, mechanism))


def test_what_other_devices_spent_counts_once(store: Store) -> None:
    """However often it is told; a round that both had paid for, each as a member of its own, counts for both."""
    spend(store, 1)
    theirs = [structs.replace(entry(number), time=2) for number in (1, 2)]
    for _ in range(2):
        ledger.add_entries(store, [entry(1), *theirs], ledger.entries(store))
    assert sorted((one.time, one.lineage > 0, one.round) for one in ledger.entries(store)) == [
        (1, True, 1), (2, False, 1), (2, True, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("sql", ["DELETE FROM privacy_ledger", "UPDATE privacy_ledger SET n_params = 1"])
def test_the_ledger_only_grows(store: Store, sql: str) -> None:
    """The database itself refuses to change or delete an entry."""
    spend(store, 1)
    with pytest.raises(StateError, match="only grows"), store.transaction() as db:
        db.execute(sql)
    assert ledger.entries(store) == (entry(1),)


def test_a_round_is_paid_for_once(store: Store) -> None:
    """Whoever comes second gets the update that is there, with its bytes, and pays nothing."""
    spend(store, 1)
    second = ledger.write_upload(store, Upload(1, 1, b"other bytes", "waiting", 0, 9), entry(1))
    assert second.body == b"sealed"
    assert len(ledger.entries(store)) == 1


def test_an_update_and_its_cost_are_written_together(store: Store) -> None:
    """When the entry cannot be written there is no update either."""
    with store.transaction() as db:
        ledger.write_entry(db, entry(1))
    with pytest.raises(StateError):
        spend(store, 1)
    assert ledger.all_uploads(store) == ()


def test_rounds_add_up_exactly() -> None:
    """Four rounds of z = 4 are one of z = 2: mu = sqrt(4) / 4, twice that for replacement."""
    spent = tuple(entry(number) for number in range(4))
    assert ledger.epsilon(spent, 1e-5, "zero-out") == pytest.approx(gaussian_epsilon(0.5, 1e-5), rel=1e-9)
    assert ledger.epsilon(spent, 1e-5, "replace") == pytest.approx(gaussian_epsilon(1.0, 1e-5), rel=1e-9)


def test_mechanisms_of_one_device_compose() -> None:
    """Gaussian and Laplace rounds are the accountant's own sum of both."""
    laplace = Laplace(clip=1.0, epsilon=0.1)
    spent = (entry(1), entry(2, laplace), entry(3, laplace))
    expected = Ledger(56).spend(LOCAL).spend(laplace, 2).epsilon(1e-5, against="server")
    assert ledger.epsilon(spent, 1e-5, "zero-out") == expected


@pytest.mark.parametrize(
    ("mechanism", "exact_count"),
    [
        (NoPrivacy(), False),
        (SHARED, False),
        (Laplace(clip=1.0, epsilon=0.1, distributed=True, n_clients=1), False),
        (FpdgdPaper(sensitivity=3.0, epsilon=4.5, n_clients=1), False),
        (LOCAL, True),
    ],
)
def test_no_guarantee_against_the_server_is_infinite(mechanism: Mechanism, exact_count: bool) -> None:
    """No noise, shares of noise, the paper's noise and exact counts are infinite, and refused unless allowed."""
    bare = entry(1, mechanism, exact_count=exact_count)
    assert math.isinf(ledger.epsilon((bare,), 1e-5, "zero-out"))
    with pytest.raises(SpentError, match="infinite epsilon"):
        ledger.check_budget((), bare, FederationSettings())
    ledger.check_budget((), bare, FederationSettings(allow_unprotected=True))
    protection = Protection(mechanism, exact_count, n_params=56, floor=3)
    told = " ".join(in_words(protection, delta=1e-5))
    assert "allow_unprotected" in told
    assert "infinite epsilon" in told


def test_the_noise_over_the_signal_of_a_period() -> None:
    """Local noise of one round: z sqrt(d / N). Five friends of whom 4 answer and 3 are honest: z sqrt(d / 12)."""
    local = Protection(Gaussian(clip=1.0, noise_multiplier=2.0), False, n_params=100, floor=4)
    assert local.noise_over_signal == pytest.approx(2 * math.sqrt(100 / 4))
    shares = Gaussian(clip=1.0, noise_multiplier=2.0, distributed=True)
    shared = Protection(shares, False, n_params=100, floor=3, mode="sealed")
    assert shared.noise_over_signal == pytest.approx(2 * math.sqrt(100 / 12))


def test_what_the_server_counted_and_the_ledger_lost_is_charged_again(store: Store) -> None:
    """Three rounds counted where one is known write two entries, at the present terms; no count takes one back."""
    spend(store, 1)
    now = entry(0, Gaussian(clip=0.8, noise_multiplier=1.0))
    assert ledger.write_missing(store, now, known=1, counted=3, most=100) == 2
    assert ledger.write_missing(store, now, known=3, counted=1, most=100) == 0
    assert ledger.write_missing(store, now, known=3, counted=4, most=100) == 1
    found = ledger.entries(store)
    assert [(e.lineage, e.round) for e in found] == [(1, 1), (0, 1), (0, 2), (0, 3)]
    assert [e.mechanism for e in found[1:]] == [now.mechanism] * 3


def test_a_server_that_lies_about_the_count_cannot_fill_the_disk(store: Store) -> None:
    """A billion rounds counted write no more than the caller allows."""
    assert ledger.write_missing(store, entry(0), known=0, counted=10**9, most=7) == 7
    assert len(ledger.entries(store)) == 7


def test_an_update_for_a_round_that_is_past_no_longer_waits(store: Store) -> None:
    """It counts as late, its bytes are gone, its entry stays; the present round's still waits."""
    spend(store, 1)
    spend(store, 2)
    ledger.settle_past(store, 1, 2)
    assert [(u.round, u.state, u.body) for u in ledger.all_uploads(store)] == [
        (1, "late", None),
        (2, "waiting", b"sealed"),
    ]
    assert len(ledger.entries(store)) == 2
