"""What a person is told: each number is that of the mathematics, and what it does not give is not said."""

from __future__ import annotations

import math
import re
import textwrap
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from app.commands.privacy import GUARANTEED
from app.federation.consent import at_most, in_words, of_group, per_cent, share
from app.federation.group_roster import Company
from app.federation.terms import protection_of
from federation_server.settings import MethodSection, RoundsSection, ServerSettings
from federation_server.setup import terms_of
from foltr.federated.sealed.committee import cohort_of, quorums
from foltr.federated.wire import Terms
from foltr.privacy.accounting import best_auc, best_guess, gaussian_epsilon
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism, NoPrivacy
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from tests.foltr.federated.sealed.sealed_groups import make_roster

DELTA = 1e-5
DOCS = Path(__file__).resolve().parents[3] / "docs"
Mode = Literal["open", "sealed", "grouped"]


def agreed(mode: Mode = "open", *, in_period: int = 4, **method: Any) -> Terms:
    """The server's default terms, with changes."""
    settings = ServerSettings(method=MethodSection(mode=mode, **method), rounds=RoundsSection(in_period=in_period))
    return terms_of(settings, "group", features=NAMES, manifest_hash=MANIFEST_HASH)


def told(terms: Terms) -> str:
    return "\n".join(in_words(protection_of(terms), delta=DELTA))


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found is not None, text
    return float(found[1])


def gaussian_of(terms: Terms) -> Gaussian:
    mechanism = protection_of(terms).mechanism
    assert isinstance(mechanism, Gaussian)
    return mechanism


@pytest.mark.parametrize("mode", ["open", "sealed"])
def test_every_number_is_the_functions_own(mode: Mode) -> None:
    """By hand from clip, caps, z and rounds: epsilon both ways, the query, the page, all of it, and the periods."""
    terms = agreed(mode)
    z = gaussian_of(terms).noise_multiplier
    text = told(terms)
    assert text.startswith(f"What follows is true {'as long as' if mode == 'sealed' else 'whoever runs the server'}")
    assert "Your device sends 4 notes a year, each of 10 noisy numbers, about what kind of files you open" in text
    for factor, n_rounds, pattern in (
        (1, 4, r"at most epsilon ([\d.]+) \(delta 1e-05\) against your having opened nothing"),
        (2, 4, r"([\d.]+) against your having opened anything else"),
        (1, 8, r"2 periods ([\d.]+),"),
        (1, 20, r"5 periods ([\d.]+),"),
        (1, 40, r"10 periods ([\d.]+)\."),
    ):
        exact = gaussian_epsilon(factor * math.sqrt(n_rounds) / z, DELTA)
        assert exact <= number(pattern, text) < exact + 0.1
    honest = {"open": z, "sealed": z / math.sqrt(3)}[mode] * math.sqrt(10 * 4 / (3 if mode == "open" else 4)) / 4
    assert number(r"4 notes is ([\d.]+) times as long", text) == pytest.approx(honest, abs=0.05)
    query, whole = 0.3 * 2 / (0.8 * z), 2 * 2 / z
    for mu, pattern in (
        (query, r"one query, however often, .* AUC at most (\.\d\d) "),
        (whole, r"AUC up to ([\d.]+\d)"),
    ):
        assert best_auc(mu) <= number(pattern, text) < best_auc(mu) + 0.01
    assert number(r"\((\d+) of 100 guesses right\)", text) == math.ceil(100 * best_guess(query))


def test_the_default_says_what_was_promised() -> None:
    """Open: epsilon 10 and AUC .71; sealed: epsilon 4 and AUC .60: the numbers that docs/privacy.md has."""
    assert "epsilon 10 (delta" in told(agreed("open"))
    assert "AUC at most .71" in told(agreed("open"))
    assert "epsilon 4 (delta" in told(agreed("sealed"))
    assert "AUC at most .60" in told(agreed("sealed"))


NOT_HIDING: list[tuple[Mode, Mechanism]] = [
    ("open", Gaussian(clip=0.8, noise_multiplier=9.0, distributed=True, n_clients=5)),
    ("open", Laplace(clip=0.8, epsilon=0.1, distributed=True, n_clients=5)),
    ("sealed", Laplace(clip=0.8, epsilon=0.1, distributed=True, n_clients=5)),
    ("open", FpdgdPaper(sensitivity=3.0, epsilon=4.5, n_clients=1)),
    ("sealed", FpdgdPaper(sensitivity=3.0, epsilon=4.5, n_clients=5)),
    ("open", NoPrivacy()),
    ("sealed", NoPrivacy()),
]


@pytest.mark.parametrize(("mode", "mechanism"), NOT_HIDING)
def test_no_claim_where_nothing_is_proven(mode: Mode, mechanism: Mechanism) -> None:
    """Shares of noise in an open group, the paper's noise, no noise: no epsilon, no AUC, but why, and the way out."""
    text = told(agreed(mode, privacy=mechanism))
    assert "infinite epsilon" in text
    assert "allow_unprotected" in text
    assert "AUC" not in text
    assert "at most" not in text


def test_an_exact_count_voids_every_claim() -> None:
    """Terms whose messages tell how many pages there were: the same noise, and nothing is claimed."""
    terms = agreed("open")
    counting = msgspec.structs.replace(terms, settings={**terms.settings, "weighting": "interactions"})
    assert "AUC" in told(terms)
    assert "exactly how many pages" in told(counting)
    assert "AUC" not in told(counting)


@pytest.mark.parametrize(
    "changes",
    [
        {"longest_step": 0.0, "longest_query": 0.0},
        {"privacy": Gaussian(clip=0.8, noise_multiplier=0.1)},
        {"privacy": Gaussian(clip=0.1, noise_multiplier=1.0), "longest_query": 0.0},
    ],
)
def test_bad_terms_are_called_bad(changes: dict[str, Any]) -> None:
    """Without caps, and with next to no noise, a person is told that a habit can be read."""
    text = told(agreed("open", **changes))
    assert "again and again can be read" in text


def test_steps_one_after_another_prove_nothing_of_a_query() -> None:
    """Where each page changes what the next one says the caps are not counted on: the clip alone is."""
    terms = agreed("open")
    settings = {**terms.settings, "update": "each", "longest_query": None}
    stepwise = protection_of(msgspec.structs.replace(terms, settings=settings))
    assert stepwise.mu_query == stepwise.mu_device


def test_little_protection_is_called_so() -> None:
    """An epsilon above 10 is said to be little, one of 10 is not."""
    assert "little protection" in told(agreed("open", privacy=Gaussian(clip=0.8, noise_multiplier=0.9)))
    assert "little protection" not in told(agreed("open"))


def test_laplace_noise_gives_epsilon_alone() -> None:
    """What is proven of caps is proven for Gaussian noise; of Laplace noise the whole is told, and that no more is."""
    text = told(agreed("open", privacy=Laplace(clip=0.8, epsilon=0.5)))
    assert "epsilon 2 (delta" in text
    assert "Nothing bounds what one query shows" in text
    assert "AUC" not in text


def test_rounds_without_an_end_are_said_to_add_up() -> None:
    """One note's cost, and that nothing but the own budget ends them."""
    terms = agreed("open", in_period=0)
    text = told(terms)
    assert "One note reveals" in text
    assert "until your own budget ends them" in text
    assert "rests" not in text
    exact = gaussian_epsilon(1 / gaussian_of(terms).noise_multiplier, DELTA)
    assert exact <= number(r"at most epsilon ([\d.]+)", text) < exact + 0.1


def test_modes_say_who_sees_what() -> None:
    """Open says that it is the fallback; sealed and grouped, that no note is opened."""
    assert "the server opens each note by itself" in told(agreed("open"))
    assert "fallback" in told(agreed("open"))
    assert "the sum of all notes, as the members do; no note is opened" in told(agreed("sealed"))
    assert "sums over parts of the group, as the members do; no note is opened" in told(agreed("grouped"))


@pytest.mark.parametrize("n", [1, 5, 7, 10, 15, 30, 300])
def test_who_must_be_honest_and_who_could_read_what_is_the_mechanisms(n: int) -> None:
    """The numbers of the cohort that such a roster makes, and epsilon and guesses of noise over sqrt(n_honest)."""
    terms, held = agreed("sealed"), quorums(n)
    text = "\n".join(in_words(protection_of(terms), delta=DELTA, company=Company(n, 0, n - 1)))
    assert f"at most {held.n_spared} of the {held.n_members} members" in text
    assert f"The worst: {held.n_readers} of the {held.n_members} with the server read single notes." in text
    if n >= 5:
        cohort = cohort_of(make_roster(n)[0])
        assert (cohort.n_least, cohort.n_honest) == (held.least, held.n_honest)
        assert f"the noise of {cohort.n_honest} honest answers of the {cohort.n_least} that must come" in text
    z = gaussian_of(terms).noise_multiplier / math.sqrt(held.n_honest)
    exact = gaussian_epsilon(math.sqrt(4) / z, DELTA)
    assert exact <= number(r"one by one sees epsilon ([\d.]+)\.\n", text) < exact + 0.1
    assert f"right in {per_cent(best_guess(2 * 2 / z))} of 100 cases" in text
    assert (f"One has brought in {n - 1}: are they people?" in text) == (n > 2)


@pytest.mark.parametrize("n", [2, 50, 60])
def test_a_group_of_parts_is_told_of_its_own_least_and_of_a_part(n: int) -> None:
    """Grouped rounds begin with fifty, in parts of ten; what must come, and whose noise is counted on, is a part's."""
    protection, held = protection_of(agreed("grouped")), quorums(max(n, 50), "grouped")
    text = "\n".join(in_words(protection, delta=DELTA, company=Company(n, 0, 1)))
    assert f"{held.n_honest} honest answers of the {held.least} that must come in each part, among" in text
    z = gaussian_of(agreed("grouped")).noise_multiplier
    n_parts, least = 5, quorums(50, "grouped")
    noise = z / math.sqrt(least.n_honest) * math.sqrt(10 * 4 / (n_parts * least.least)) / 4
    assert number(r"In a group of 50, the least, the noise of 4 notes is ([\d.]+) times", text) == round(noise, 1)


def test_the_ledger_promises_no_more_than_join_did() -> None:
    """Of five two with the server know more than the ledger says, though three are needed to read a note."""
    assert quorums(5).n_spared < quorums(5).n_readers - 1
    assert "with as many members as `foltr-search join` says may help" in GUARANTEED
    assert "can open" not in GUARANTEED


def test_the_table_of_the_documentation_is_computed() -> None:
    """Each row of docs/methods.md on sealed rounds, and what docs/privacy.md says of five and of thirty."""
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    table = text.partition("begin of the numbers of sealed rounds -->")[2].partition("<!-- end")[0]
    rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()][2:]
    protection = protection_of(agreed("sealed"))
    assert len(rows) >= 5
    for row in rows:
        held = quorums(int(row[0]))
        epsilon = protection.opened(held.n_honest).epsilon(DELTA, "zero-out", n_rounds=4)
        numbers = (held.n_members, held.n_committee, held.threshold, held.least, held.n_honest)
        assert row == [*map(str, (*numbers, held.n_spared, held.n_readers)), at_most(epsilon)]
    said = " ".join((DOCS / "privacy.md").read_text(encoding="utf-8").split())
    for n, who in ((5, "five"), (30, "thirty")):
        held = quorums(n)
        epsilon = at_most(protection.opened(held.n_honest).epsilon(DELTA, "zero-out", n_rounds=4))
        assert f"of {who} members {held.n_readers} (epsilon {epsilon} a year)" in said


@pytest.mark.parametrize("company", [Company(2, 0, 1), Company(5, 0, 4), Company(30, 0, 29), Company(99, 0, 50)])
def test_the_first_screen_is_for_everybody(company: Company) -> None:
    """Who must be honest, what leaves, who sees what, the worst: 12 lines of a small terminal, and no Greek."""
    lines = list(in_words(protection_of(agreed("sealed")), delta=DELTA, company=company))
    first = lines[: next(place for place, line in enumerate(lines) if "epsilon" in line)]
    assert 1 + sum(len(textwrap.wrap(line, 80)) for line in first) <= 12
    assert not re.search(r"epsilon|delta|AUC|committee|threshold|cohort", " ".join(first))
    assert first[0].startswith("What follows is true as long as at most")
    assert any(line.startswith("The worst: ") for line in first)


def test_other_weights_are_not_called_kinds_of_files() -> None:
    """With a weight of the text in it the note is about what is opened; the kinds are those of the weights sent."""
    assert "(age, type)" in told(agreed("open", shared=["newer", "is_mail"]))
    assert "about which results you open." in told(agreed("open", shared=["newer", "bm25f"]))
    assert "about which results you open." in told(agreed("open", shared=[]))


def test_bounds_are_rounded_up() -> None:
    """A bound is never told smaller than it is."""
    assert [at_most(x) for x in (9.9972, 10.0, 3.1467, 0.6214, 1.0)] == ["10", "10", "3.2", "0.63", "1"]
    assert [share(x) for x in (0.70206, 0.6, 0.5, 1.0)] == [".71", ".60", ".50", "1.00"]
    assert [per_cent(x) for x in (0.6462, 0.5, 0.57)] == ["65", "50", "57"]


def test_terms_that_cannot_be_followed_are_one_line() -> None:
    """`privacy` shows why, and goes on; without a group it has nothing to say."""
    assert of_group(None, delta=DELTA) == ()
    strange = msgspec.structs.replace(agreed(), settings={"eta": 1})
    assert len(of_group(strange, delta=DELTA)) == 1


def test_the_numbers_of_the_page_on_proofs_are_computed() -> None:
    """docs/sealed.md: how many coins, what one note's own noise leaves, the mean's noise if each added all of it."""
    said = " ".join((DOCS / "sealed.md").read_text(encoding="utf-8").split())
    protection = protection_of(agreed("sealed"))
    privacy = protection.mechanism
    assert isinstance(privacy, Gaussian)
    assert "256 coins a number in groups of five and six members, 128 of up to thirteen, 64 up to ninety-six" in said
    coins = {n: privacy.shared_out(quorums(n).n_honest).coins for n in range(5, 200)}
    assert [n for n in range(6, 200) if coins[n] != coins[n - 1]] == [7, 14, 97]
    assert (coins[5], coins[7], coins[14], coins[97]) == (256, 128, 64, 128)
    alone = [
        at_most(protection.opened(quorums(n).n_honest).epsilon(DELTA, "zero-out", n_rounds=4)) for n in (5, 10, 30)
    ]
    assert "epsilon {} of a year at five members, {} at ten, {} at thirty".format(*alone) in said
    whole = privacy.noise_multiplier * privacy.clip
    means = [(whole / n**0.5, whole / (n * quorums(n).n_honest) ** 0.5) for n in (5, 10, 30)]
    told = [f"{one:.2f} instead of {part:.2f}".replace("0.", ".") for one, part in means]
    assert "at five members {}, at ten {}, at thirty {}".format(*told) in said
