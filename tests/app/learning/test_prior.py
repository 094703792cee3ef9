"""What is shipped of the ranker: its weights, and how fast each of those of the net learns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from app.learning.learner import Learner
from app.learning.prior import PRIOR, LearningRates, Prior, load_prior, theta_prior
from app.settings import LearningSettings
from app.store import Store
from foltr.errors import ModelError
from foltr.ranking.rankers import Linear, Neural
from indexer.documents import ExtractedDocument, FileEntry
from indexer.prepare import prepare_document
from indexer.query.parse import parse
from indexer.retrieval.candidates import find
from indexer.retrieval.feature_values import Usage, raw_features, scaled
from indexer.retrieval.features import MANIFEST_HASH, NAMES, USAGE_NAMES
from indexer.storage.index import Index
from tests.columns import INDEX
from tests.matchers import matcher_of


def test_the_shipped_weights_fit_the_manifest() -> None:
    """One number for each feature; those that are named stand in their place, all others are 0."""
    weights, theta = load_prior(PRIOR).weights, theta_prior()
    assert theta.shape == (len(NAMES),)
    assert all(theta[INDEX[name]] == weight for name, weight in weights.items())
    assert np.count_nonzero(theta) == sum(1 for weight in weights.values() if weight)
    assert np.isfinite(theta).all()


def test_the_text_match_comes_first() -> None:
    """What the words say can outweigh everything that is known of the document itself; of them BM25F counts most.

    Closeness in meaning has more, but spans less: what is a candidate by it alone has .3 at least, out of 1.
    """
    theta = dict(zip(NAMES, theta_prior().tolist(), strict=True))
    others = [name for name in NAMES if name not in (*USAGE_NAMES, "meaning")]
    assert max(others, key=lambda name: theta[name]) == "bm25f"
    assert sum(abs(theta[name]) for name in ("recent_week", "recent_year", "newer", "size", "depth")) < theta["bm25f"]


def test_a_pick_for_the_same_query_outweighs_what_is_known_of_the_document() -> None:
    """Finding again is where learning pays first."""
    theta = theta_prior()
    assert theta[INDEX["same_query"]] > theta[[INDEX[name] for name in USAGE_NAMES if name != "same_query"]].max()
    assert (theta[[INDEX[name] for name in USAGE_NAMES]] >= 0).all()


def test_where_the_weights_come_from_is_recorded() -> None:
    """The file says its version and its provenance."""
    prior = load_prior(PRIOR)
    assert prior.v == 1
    assert prior.provenance


def test_a_weight_of_no_feature_is_an_error(tmp_path: Path) -> None:
    """Weights of another manifest are named, not passed over."""
    strange = tmp_path / "prior.json"
    strange.write_bytes(msgspec.json.encode(Prior(1, {"no_such_feature": 1.0}, {})))
    with pytest.raises(ModelError, match=r"prior\.json .* no_such_feature"):
        load_prior(strange)


NOW = 1_800_000_000.0
MakeDevice = Callable[..., Learner]


@pytest.fixture
def device(tmp_path: Path) -> MakeDevice:
    """Makes a learner as the program does; it does not explore, so that its lessons can be told in advance."""

    def make(ranker: str = "linear") -> Learner:
        return Learner(
            Store(tmp_path / "state.sqlite"), theta0=theta_prior(), feature_names=NAMES, manifest_hash=MANIFEST_HASH,
            settings=LearningSettings(exploration=0.0, ranker=ranker), rates=LearningRates.shipped(NAMES),
        )  # fmt: skip

    return make


def test_the_even_pace_is_plain_gradient_ascent() -> None:
    """The step is the slope, and every feature is seen."""
    rates = LearningRates.even(2)
    assert rates.step(Linear(2), np.array([0.5, -0.5])).tolist() == [0.5, -0.5]
    assert rates.seen(np.ones((3, 2))).tolist() == [[1.0, 1.0]] * 3


def test_each_weight_moves_at_its_rate() -> None:
    """Slope 2 at rates 0, .25 and 1: 0, .5 and 2."""
    assert LearningRates(np.array([0.0, 0.25, 1.0])).step(Linear(3), np.full(3, 2.0)).tolist() == [0.0, 0.5, 2.0]


def test_no_lesson_takes_a_longer_step_than_allowed() -> None:
    """A slope of (3, 4) is 5 long; at most 1 is taken of it: (.6, .8)."""
    rates = LearningRates(np.ones(2), longest=1.0)
    assert rates.step(Linear(2), np.array([3.0, 4.0])).tolist() == pytest.approx([3 / 5, 4 / 5])


def test_a_net_learns_at_the_same_rates_on_its_inputs() -> None:
    """Columns of W move at the feature's rate, biases and outputs at 1."""
    net, rates = Neural(2, n_hidden=2), LearningRates(np.array([0.0, 0.5]))
    assert rates.step(net, np.ones(net.n_params)).tolist() == [0.0, 0.5, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0]


def test_the_shipped_pace_is_what_the_documentation_says() -> None:
    """A lesson is .15 points long at most, and text takes a twentieth of what the document's own features take."""
    rates, slope = LearningRates.shipped(("bm25f", "newer")), np.array([20.0, 1.0])
    assert rates.step(Linear(2), 100.0 * slope).tolist() == pytest.approx([0.15 / 2**0.5] * 2)
    assert rates.step(Linear(2), 0.01 * slope).tolist() == pytest.approx([0.01, 0.01])


def test_the_full_rate_is_for_what_no_query_changes(tmp_path: Path) -> None:
    """Over two queries for the same files, only features of the file alone stay: they learn five times as fast.

    How often a file was opened is one too, but speaks for itself already: it learns as slowly as text.
    """
    index, rng, names = Index.open(tmp_path), np.random.default_rng(0), ["note", "heron water", "stork lake", "list"]
    with index.writer("test") as writer:
        for i in range(12):
            words = rng.choice(["heron water", "storks lake", "herons", "stork", "lakes"], size=1 + i)
            text, title, author = " ".join(["herons" if i % 2 else "water", "stork", *words]), names[i % 4], words[0]
            document = ExtractedDocument(text=text, type="text", title=title, author=author)
            file = FileEntry(f"/{words[0]}/{names[i % 3]}.txt", 100 * i, int((NOW - 1e6 * i) * 1e9), 1, i)
            writer.add(i, file, prepare_document(document))
        writer.commit(merge=False)
    snapshot, usage = index.snapshot(), Usage(*rng.random((len(USAGE_NAMES), 12)))

    def features(text: str) -> np.ndarray:
        found = find(matcher_of(snapshot), parse(text), limit=100, by_date=True)
        titles, stems = [names[i % 4] for i in range(12)], [f"{names[i % 3]}.txt" for i in range(12)]
        return scaled(raw_features(snapshot, found, usage, titles=titles, names=stems, now=NOW))

    one, other = features("heron OR water"), features("stork OR lake")
    assert one.shape == other.shape == (12, len(NAMES))
    alone = {name for name in NAMES if (one[:, INDEX[name]] == other[:, INDEX[name]]).all()}
    full = {name for name, rate in zip(NAMES, LearningRates.shipped(NAMES).rates, strict=True) if rate == 1.0}
    # Without vectors the closeness of meaning is 0 for every query.
    assert full == alone - {"opened", "opened_recently", "same_query", "similar_query", "meaning"}


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_the_picks_of_a_query_are_weighed_as_shipped_for_ever(device: MakeDevice, ranker: str) -> None:
    """However a device learns, `same_query` and `similar_query` move a score by their shipped weights alone."""
    anna, rng = device(ranker), np.random.default_rng(1)
    for _ in range(30):
        page = rng.random((6, len(NAMES)))
        page[:, [INDEX["same_query"], INDEX["similar_query"]]] = np.linspace(0, 1, 6)[:, None]
        page[:, INDEX["recent_year"]] = [0.1, 0.1, 0.1, 0.1, 0.1, 0.9]
        anna.learn(page, range(6), [False] * 5 + [True], scores=np.zeros(6), now=NOW)
    assert np.abs(anna.scores(page) - page @ theta_prior()).max() > 0.01
    without = page.copy()
    without[:, [INDEX["same_query"], INDEX["similar_query"]]] = 0.0
    points = page[:, INDEX["same_query"]] * theta_prior()[INDEX["same_query"]]
    points += page[:, INDEX["similar_query"]] * theta_prior()[INDEX["similar_query"]]
    np.testing.assert_allclose(anna.scores(page), anna.scores(without) + points, atol=1e-12)
