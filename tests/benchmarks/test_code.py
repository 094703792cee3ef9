"""The measurement of source code: what counts as found, and weights learned from pairs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from app.settings import Settings
from benchmarks.code import Judged, Query, fitted, grades, judged, measured, repositories, worth
from benchmarks.train_prior import LEAD
from indexer.retrieval.code import CODE_NAMES


def test_a_relevant_file_counts_once() -> None:
    """By the end of its path, folder by folder; a second row of the same end is nothing new."""
    rows = [("/r/src/own_args.go",), ("/r/a/args.go",), ("/r/b/args.go",), ("/r/x.go", "/r/copy/main.go")]
    assert grades(rows, ("args.go", "main.go")).tolist() == [0, 1, 0, 1]
    ideal = 1 + 1 / np.log2(3)
    assert worth(rows, Query("", "", ("args.go", "main.go"))) == pytest.approx(
        (1 / np.log2(3) + 1 / np.log2(5)) / ideal
    )
    assert worth([], Query("", "", ("args.go",))) == 0.0


def test_weights_follow_what_tells_relevant_files_apart() -> None:
    """A feature that only relevant ones have is worth most, one that all have nothing; the lead is that of texts."""
    rng, pages = np.random.default_rng(1), []
    for _ in range(20):
        values = rng.uniform(size=(12, len(CODE_NAMES)))
        values[:, 1], values[:, 2] = np.arange(12) == 3, 0.5
        pages.append(Judged(values, (np.arange(12) == 3).astype(np.float64)))
    weights = fitted(pages)
    assert int(np.argmax(weights)) == 1
    assert abs(weights[2]) < 1e-9
    leads = [np.ptp(np.sort(values @ weights)[::-1][:10]) for values, _ in pages]
    assert np.mean(leads) == pytest.approx(LEAD)


def test_repositories_are_judged_through_the_product(tmp_path: Path) -> None:
    """Of a small one: indexed below its root, its pages have features and grades, the wanted file is found."""
    (tmp_path / "annotations").mkdir()
    tree = tmp_path / "trees" / "small" / "src"
    tree.mkdir(parents=True)
    (tree / "parser.py").write_text("class Parser:\n    def parse(self): ...\n", encoding="utf-8")
    (tree / "printer.py").write_text("def show(parser): ...\n", encoding="utf-8")
    (tmp_path / "repos.json").write_text(json.dumps([{"name": "small", "benchmark_root": "src"}, {"name": "absent"}]))
    asked = [{"query": "parser", "relevant": [{"path": "src/parser.py"}], "secondary": [], "category": "symbol"}]
    (tmp_path / "annotations" / "small.json").write_text(json.dumps(asked))
    found = list(repositories(tmp_path, Settings()))
    assert [(one.name, one.queries) for one in found] == [("small", [Query("parser", "symbol", ("src/parser.py",))])]
    assert measured(found[0], np.zeros(len(CODE_NAMES))) == [1.0]
    assert measured(found[0], None) == [1.0]
    assert judged(found[0])[0].grades.tolist() == [1, 0]
