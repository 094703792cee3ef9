"""What queries vote for: one lesson by hand, the test of a habit, the window, and a change of taste."""

from __future__ import annotations

import random
from math import log, log1p, sqrt

import msgspec
import numpy as np
import pytest

from app.learning.traits import NO_CODE, TEST, Traits
from app.learning.votes import ALARM, BY_TEXT, DOUBT, ETA, KAPPA, RECENT, WINDOW, Vote, Votes, lesson
from foltr.online.pdgd import gradient
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear


def page(n: int, *opened: int) -> Interaction:
    """Rows 0 to n - 1 in their order, of which some were opened; what they are features of does not matter."""
    return Interaction(np.zeros((n, 1)), np.arange(n), np.isin(np.arange(n), opened))


def traits(**held: list[float]) -> Traits:
    return Traits(tuple(held), np.array(list(held.values())).T)


def votes(*said: tuple[float, float], trait: str = "pdf", day: int = 0) -> Votes:
    """Of so many queries, each with one lesson."""
    whole = Votes()
    for i, own in enumerate(said):
        whole = whole.after(Vote(b"q%d" % i, day, {trait: own}))
    return whole


def test_a_vote_by_hand() -> None:
    """Five rows of equal text, the last is a PDF and opened: r = 1 - 1/5, v = 1/5 * 4/5; if another is, r = -1/5."""
    own = traits(pdf=[0, 0, 0, 0, 1])
    assert lesson(page(5, 4), np.zeros(5), own)["pdf"] == pytest.approx((1 - 1 / 5, 1 / 5 * 4 / 5))
    assert lesson(page(5, 1), np.zeros(5), own)["pdf"] == pytest.approx((-1 / 5, 1 / 5 * 4 / 5))


def test_two_that_are_opened_are_two_choices() -> None:
    """Each among those that were not opened: 1 - 1/4 and 0 - 0 of four rows each; the variances add up."""
    own = traits(pdf=[1, 0, 0, 0, 0])
    assert lesson(page(5, 0, 1), np.zeros(5), own)["pdf"] == pytest.approx((1 - 1 / 4, 1 / 4 * 3 / 4))


def test_a_vote_is_pdgds_gradient_of_the_page() -> None:
    """Less what it is in the mean where the text alone chooses, in the unit that the text gives."""
    rng = np.random.default_rng(0)
    scale, held = rng.normal(size=6), rng.random((6, 2))
    features = np.column_stack([scale, held])  # ranked by the first, as the text alone would

    def of(opened: int) -> np.ndarray:
        """With the last row opened or the one above it, PDGD by itself counts all six as seen."""
        shown = Interaction(features, np.arange(6), np.arange(6) == opened)
        return gradient(Linear(3), np.array([1.0, 0, 0]), shown, temperature=2.0)[1:]

    own = lesson(page(6, 5), scale, Traits(("pdf", "html"), held))
    other = lesson(page(6, 4), scale, Traits(("pdf", "html"), held))
    apart = (of(5) - of(4)) / (np.array([own[name][0] for name in own]) - np.array([other[name][0] for name in other]))
    assert apart[0] == pytest.approx(apart[1])  # one unit for all traits


@pytest.mark.parametrize("seed", range(5))
def test_the_text_alone_says_nothing_in_the_mean(seed: int) -> None:
    """Opened by the chances of the text, the votes of a page have mean 0 and the variance that they name."""
    rng = np.random.default_rng(seed)
    scale, own = rng.normal(size=5), Traits(("pdf",), rng.random((5, 1)))
    chance = np.exp(scale / 2) / np.exp(scale / 2).sum()
    said = [lesson(page(5, opened), scale, own)["pdf"] for opened in range(5)]
    assert sum(p * r for p, (r, _) in zip(chance, said, strict=True)) == pytest.approx(0)
    assert sum(p * r**2 for p, (r, _) in zip(chance, said, strict=True)) == pytest.approx(said[0][1])


def test_what_was_not_seen_says_nothing() -> None:
    """Five rows are seen, and down to one below the last one opened."""
    own = traits(pdf=[0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    assert lesson(page(10, 0), np.zeros(10), own) == {}
    assert lesson(page(10, 4), np.zeros(10), own)["pdf"] == pytest.approx((-1 / 6, 1 / 6 * 5 / 6))
    assert lesson(page(1, 0), np.zeros(1), traits(pdf=[1])) == {}


def test_a_file_that_was_found_again_confirms() -> None:
    """First and opened, though its text alone is worth less than that of those below: it speaks for its type."""
    own = traits(pdf=[1, 0, 0, 0, 0])
    (r, _) = lesson(page(5, 0), np.array([-2.0, 0, 0, 0, 0]), own)["pdf"]
    assert r > 1 - 1 / 5 > lesson(page(5, 0), np.array([2.0, 0, 0, 0, 0]), own)["pdf"][0]


def test_the_score_test_by_hand() -> None:
    """Nine queries with (.8, .16): z = 7.2 / sqrt(1.44 + DOUBT), less k."""
    z, k = 9 * 0.8 / sqrt(9 * 0.16 + DOUBT), sqrt(KAPPA**2 + log1p(9 / 10))
    assert votes(*[(0.8, 0.16)] * 9).liking == pytest.approx({"pdf": 2 * 7.2 / (1.44 + DOUBT) * (1 - (k / z) ** 2)})


def test_a_habit_begins_at_its_threshold_without_a_jump() -> None:
    """At z = k nothing counts; a thousandth above it, next to nothing; one query never has a habit."""
    k = sqrt(KAPPA**2 + log1p(10 / 10))
    r = k * sqrt(10 * 0.1 + DOUBT) / 10
    assert votes(*[(r * 0.9999, 0.1)] * 10).liking == {}
    (little,) = votes(*[(r * 1.001, 0.1)] * 10).liking.values()
    assert 0 < little < 0.02
    assert votes((9.0, 0.0), trait="new").liking == {}


def test_only_age_and_roles_have_two_sides() -> None:
    """Votes against a type or a folder are no habit; those against new files are one for older ones."""
    against = [(-0.8, 0.16)] * 20
    assert votes(*against).liking == votes(*against, trait="folder 12").liking == {}
    assert all(votes(*against, trait=name).liking[name] < 0 for name in ("new", TEST, NO_CODE))


def test_what_an_assistant_opened_is_held_against_chance() -> None:
    """The first of five has half of the chances: ln(5 / 2) if it is opened, ln(5 / 8) else; of a person nothing."""
    scale, own = np.array([2 * log(4), 0, 0, 0, 0]), traits(pdf=[0, 0, 0, 0, 1])
    said = [lesson(page(5, opened), scale, own, of_assistant=True) for opened in (0, 3)]
    assert [one[BY_TEXT] for one in said] == [pytest.approx((log(5 / 2), 0)), pytest.approx((log(5 / 8), 0))]
    assert lesson(page(5, 0), scale, own) == {"pdf": said[0]["pdf"]}


def test_a_habit_makes_up_for_what_the_text_lacks() -> None:
    """Nine lessons explain z^2 / 2, z = 7.2 / sqrt(1.44 + DOUBT); where a thousandth more is lacking, none counts."""
    z = 7.2 / sqrt(9 * 0.16 + DOUBT)
    for lacking, n_habits in ((0.999, 1), (1.001, 0)):
        whole = Votes()
        for i in range(9):
            whole = whole.after(Vote(b"q%d" % i, 0, {"pdf": (0.8, 0.16), BY_TEXT: (-lacking * z**2 / 2 / 9, 0.0)}))
        assert len(whole.liking) == n_habits
    assert votes(*[(9.0, 0.0)] * 9, trait=BY_TEXT).liking == {}


def test_a_query_has_one_vote() -> None:
    """Asked a hundred times it has what its lessons are mixed to, ETA of each new one; without a name it is new."""
    asked = votes((0.5, 0.2)).after(Vote(b"q0", 3, {"pdf": (1.0, 0.1), "new": (0.4, 0.3)}))
    (vote,) = asked.votes
    assert vote.day == 3
    assert vote.said["pdf"] == pytest.approx((ETA * 1.0 + (1 - ETA) * 0.5, ETA * 0.1 + (1 - ETA) * 0.2))
    assert vote.said["new"] == pytest.approx((ETA * 0.4, ETA * 0.3))
    for _ in range(100):
        asked = asked.after(Vote(b"q0", 3, {"pdf": (1.0, 0.1)}))
    assert len(asked.votes) == 1
    assert asked.liking == {}
    assert len(votes((0.5, 0.2)).after(Vote(b"", 0, {})).after(Vote(b"", 0, {})).votes) == 3


def test_the_last_hundred_queries_vote_and_nothing_fades() -> None:
    """A hundred and fifty queries: as if there had been the last hundred alone; what one said stays as it was."""
    rng = np.random.default_rng(1)
    said = [(float(r), 0.2) for r in rng.uniform(0, 1, 150)]
    whole = votes(*said)
    assert [vote.said["pdf"] for vote in whole.votes] == said[-WINDOW:]
    last = Votes()
    for i, own in enumerate(said[-WINDOW:], start=50):
        last = last.after(Vote(b"q%d" % i, 0, {"pdf": own}))
    assert last.liking == pytest.approx(whole.liking)


def test_the_order_of_the_queries_does_not_matter() -> None:
    """Below the window, lessons of different queries give the same habits in any order."""
    lessons = [Vote(b"q%d" % i, i, {"pdf": (0.2 + i / 60, 0.2), "new": (0.5, 0.3)}) for i in range(30)]
    found = []
    for seed in range(4):
        random.Random(seed).shuffle(lessons)
        whole = Votes()
        for one in lessons:
            whole = whole.after(one)
        found.append(whole.liking)
    assert all(own == pytest.approx(found[0]) for own in found)
    assert set(found[0]) == {"pdf", "new"}


def test_a_query_whose_vote_is_gone_was_never_there() -> None:
    """Of a query that falls out of the window, or is taken out, nothing is left in what the others vote for."""
    whole = votes(*[(0.8, 0.16)] * 12)
    without = msgspec.structs.replace(whole, votes=tuple(vote for vote in whole.votes if vote.query != b"q3"))
    assert without.liking == pytest.approx(votes(*[(0.8, 0.16)] * 11).liking)


def test_a_change_of_taste_is_seen() -> None:
    """After fifty for PDFs, lessons against them: as soon as the last RECENT say so, they alone vote."""
    whole = votes(*[(0.8, 0.16)] * 50)
    n = 0
    while "pdf" in whole.liking:
        whole = whole.after(Vote(b"new%d" % n, 0, {"pdf": (-0.2, 0.16), "html": (0.8, 0.16)}))
        n += 1
    # RECENT lessons, n of them against: (.8 (12 - n) - .2 n) / sqrt(12 * .16 + DOUBT) falls below ALARM
    needed = next(n for n in range(RECENT + 1) if (0.8 * (RECENT - n) - 0.2 * n) / sqrt(RECENT * 0.16 + DOUBT) < ALARM)
    assert n == needed
    assert len(whole.recent) == RECENT - 1
    assert [vote.query for vote in whole.votes if vote.said] == [b"new%d" % i for i in range(n)]
    for i in range(10):
        whole = whole.after(Vote(b"more%d" % i, 0, {"pdf": (-0.2, 0.16), "html": (0.8, 0.16)}))
    assert list(whole.liking) == ["html"]


def test_a_change_of_one_taste_leaves_the_others() -> None:
    """Of types all is asked anew, of folders nothing; a query without a name keeps what it says now."""
    whole = Votes()
    for i in range(30):
        whole = whole.after(Vote(b"q%d" % i, 0, {"pdf": (0.8, 0.16), "folder a": (0.8, 0.16)}))
    before = whole.liking["folder a"]
    while "pdf" in whole.liking:
        whole = whole.after(Vote(b"", 0, {"pdf": (-0.5, 0.16), "folder a": (0.8, 0.16)}))
    assert whole.liking["folder a"] > before
    about_types = [vote for vote in whole.votes if "pdf" in vote.said]
    assert {(vote.query, vote.said["pdf"]) for vote in about_types} <= {(b"", (-0.5, 0.16)), *(
        (vote.query, (0.8, 0.16)) for vote in whole.recent if vote.query)}  # fmt: skip
    assert len(about_types) == len(whole.recent)


def test_one_slip_is_no_change_of_taste() -> None:
    """A lesson against a habit among many for it leaves all votes."""
    whole = votes(*[(0.8, 0.16)] * 20).after(Vote(b"slip", 0, {"pdf": (-0.8, 0.16)}))
    assert len(whole.votes) == 21
    assert whole.liking["pdf"] > 0


@pytest.mark.parametrize(("queries", "days", "often"), [(9, 3, True), (9, 2, False), (4, 4, False), (5, 5, True)])
def test_often_is_five_queries_on_three_days(queries: int, days: int, often: bool) -> None:
    """A habit may be in force before that word is true of it; those that speak against it are not counted."""
    whole = Votes()
    for i in range(queries):
        whole = whole.after(Vote(b"q%d" % i, i % days, {"pdf": (3.0, 0.16)}))
    for i in range(3):
        whole = whole.after(Vote(b"not%d" % i, 100 + i, {"pdf": (-0.1, 0.01)}))
    assert "pdf" in whole.liking
    assert whole.often == ({"pdf"} if often else set())


def test_what_leaves_names_no_query_and_no_folder() -> None:
    """An exported model keeps types and measures alone, of queries without names."""
    whole = Votes().after(Vote(b"secret", 5, {"pdf": (1.0, 0.1), "folder 3f": (1.0, 0.1), "new": (0.1, 0.1)}))
    shared = msgspec.json.encode(whole.unnamed()).decode()
    assert "folder" not in shared
    assert whole.unnamed().votes == whole.unnamed().recent == (Vote(b"", 5, {"pdf": (1.0, 0.1), "new": (0.1, 0.1)}),)


def test_votes_survive_being_stored() -> None:
    """To the last digit, as msgpack in the state and as JSON in a file."""
    whole = votes(*[(0.8, 0.16)] * 15)
    for module in (msgspec.msgpack, msgspec.json):
        assert module.decode(module.encode(whole), type=Votes).liking == whole.liking
