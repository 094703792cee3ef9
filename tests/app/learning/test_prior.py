"""The shipped ranker."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from app.learning.prior import PRIOR, Prior, load_prior, theta_prior
from foltr.errors import ModelError
from indexer.retrieval.features import NAMES, USAGE_NAMES
from tests.columns import INDEX


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
