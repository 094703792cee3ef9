"""LambdaMART."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from simulation.cells.evaluation import judge
from simulation.data.queries import QuerySet
from simulation.errors import SimulationError
from simulation.labels.lambdamart import SEARCHED, LambdaMART, drawn
from tests.simulation.judged_queries import queries

NEEDS_LIGHTGBM = "LightGBM is not installed: the extra `lambdamart`"
SMALL = {"trees": 30, "patience": 10, "trials": 0, "min_data_in_leaf": 5, "min_sum_hessian_in_leaf": 0.0}


def asked(seed: int, n: int) -> QuerySet:
    """Relevant are the documents with both features small or both large: no linear ranker tells them apart."""
    x = np.random.default_rng(seed).random((n * 10, 3))
    return queries(x, ((x[:, 0] > 0.5) == (x[:, 1] > 0.5)).astype(int).tolist(), *[10] * n)


def test_without_lightgbm_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is run."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SimulationError, match=r"pip install .*\[lambdamart\]"):
        LambdaMART()


def test_draws_lie_in_the_papers_space() -> None:
    """And reach its ends."""
    rng = np.random.default_rng(0)
    draws = [drawn(rng) for _ in range(4_000)]
    for key, values in SEARCHED.items():
        assert {draw[key] for draw in draws} == {*np.array(values).tolist()}
    ends = {key: (np.min(values), np.max(values)) for key, values in SEARCHED.items()}
    assert ends["num_leaves"] == (15, 255)
    assert (ends["min_data_in_leaf"], ends["min_sum_hessian_in_leaf"]) == ((10, 500), (1, 100))


def test_trees_learn_what_no_linear_ranker_can() -> None:
    """An exclusive or of two features is ranked almost perfectly on queries that were never seen."""
    pytest.importorskip("lightgbm", reason=NEEDS_LIGHTGBM)
    trees = LambdaMART(**SMALL).fit(asked(0, 40), np.random.default_rng(0), asked(1, 40))
    test = asked(2, 40)
    assert judge(test).evaluate_scores(trees(test)).ndcg > 0.97
    assert trees.importance.sum() == pytest.approx(1.0)
    assert trees.importance[2] < 0.05


def test_the_same_generator_gives_the_same_trees() -> None:
    """With a search and without validation queries, where all randomness is used."""
    pytest.importorskip("lightgbm", reason=NEEDS_LIGHTGBM)
    ranker, test = LambdaMART(trees=20, patience=5, trials=3), asked(2, 40)
    first, again, other = (ranker.fit(asked(0, 400), np.random.default_rng(seed))(test) for seed in (4, 4, 5))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_the_best_of_the_trials_is_kept() -> None:
    """By nDCG on the validation queries: more trials are never worse there."""
    pytest.importorskip("lightgbm", reason=NEEDS_LIGHTGBM)
    found = []
    for trials in (1, 4):
        trees = LambdaMART(trees=20, patience=5, trials=trials).fit(
            asked(0, 200), np.random.default_rng(8), asked(1, 40)
        )
        found.append(trees.booster.best_score["validation"]["ndcg@10"])
    assert found[0] <= found[1]


def test_few_queries_without_validation_tell_for_themselves_when_to_stop() -> None:
    """Of four none is held back: the ranker is the one that the same four would have stopped."""
    pytest.importorskip("lightgbm", reason=NEEDS_LIGHTGBM)
    few, test = asked(0, 4), asked(2, 40)
    alone, told = (LambdaMART(**SMALL).fit(few, np.random.default_rng(0), part)(test) for part in (None, few))
    assert alone.tolist() == told.tolist()


def test_refused() -> None:
    """Settings out of range."""
    pytest.importorskip("lightgbm", reason=NEEDS_LIGHTGBM)
    with pytest.raises(ValueRangeError, match="trees"):
        LambdaMART(trees=0)
    with pytest.raises(ValueRangeError, match="learning_rate"):
        LambdaMART(learning_rate=0.0)
