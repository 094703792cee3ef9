"""Source code: is the wanted file first, on repositories that the ranker of code never saw?

    python -m benchmarks code FOLDER            the tables, each repository by weights of the others
    python -m benchmarks code FOLDER --write    and app/code.json from all of them

FOLDER holds judged queries over repositories in the form of Semble's benchmark: repos.json, annotations/NAME.json and
the files of each as trees/NAME (`git archive` of the commit that repos.json names); indexes are made beside them, once.
Each repository is indexed by itself, as its `benchmark_root` says. nDCG@10 by file, every relevant file counting alike.

Method: pairwise logistic regression, sum over queries of the mean over pairs (relevant, not relevant) of ln(1 +
exp(-w . (z_i - z_j))) + STRENGTH / 2 |w|^2, by Newton's method; then scaled so that the first result leads the tenth by
as many points as on a page of texts. Needs bm25s.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import msgspec
import numpy as np

from app.learning.prior import Prior
from app.paths import Paths
from app.search.code_pages import WEIGHTS
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import ordinary_bm25
from benchmarks.collections import Document
from benchmarks.devices import device, indexed
from benchmarks.judged import CUTOFF, ndcg
from benchmarks.running import arguments
from benchmarks.tables import Table, machine, verdict
from benchmarks.train_prior import LEAD
from foltr.arrays import FloatMatrix, FloatVector
from indexer.retrieval.code import CODE_NAMES
from indexer.storage.catalogue import Catalogue

AIM = 0.85
STRENGTH = 1.0


class Query(NamedTuple):
    text: str
    sort: str
    """architecture, semantic or symbol"""
    relevant: tuple[str, ...]
    """ends of paths"""


class Repository(NamedTuple):
    name: str
    root: Path
    paths: Paths
    queries: list[Query]


class Judged(NamedTuple):
    """A page of which the grades are known."""

    values: FloatMatrix
    """[n_docs, n_code]"""
    grades: FloatVector
    """[n_docs]"""


def repositories(folder: Path, settings: Settings) -> Iterator[Repository]:
    """Those that are there, indexed."""
    for known in json.loads((folder / "repos.json").read_text(encoding="utf-8")):
        name, judged = known["name"], folder / "annotations" / f"{known['name']}.json"
        root = (folder / "trees" / name / (known.get("benchmark_root") or "")).resolve()
        if judged.exists() and root.is_dir():
            paths = indexed(root, folder / "indexes" / name, settings)
            yield Repository(name, root, paths, list(map(_query, json.loads(judged.read_text(encoding="utf-8")))))


def _query(asked: dict[str, object]) -> Query:
    given = [*asked["relevant"], *asked.get("secondary", [])]  # type: ignore[misc]
    ends = dict.fromkeys(one if isinstance(one, str) else one["path"] for one in given)
    return Query(str(asked["query"]), str(asked["category"]), tuple(ends))


def grades(paths: Sequence[Sequence[str]], relevant: Sequence[str]) -> FloatVector:
    """[n_rows] 1 for each row, given by the paths it stands for, that is the first of a relevant file."""
    found, left = np.zeros(len(paths)), set(relevant)
    for i, own in enumerate(paths):
        held = {end for end in left if any(f"/{path}".endswith(f"/{end}") for path in own)}
        found[i], left = float(bool(held)), left - held
    return found


def worth(paths: Sequence[Sequence[str]], query: Query) -> float:
    """nDCG@10 of the rows of one page."""
    return ndcg(grades(paths, query.relevant), [1] * len(query.relevant)) if paths else 0.0


@contextmanager
def ranked_by(weights: FloatVector | None) -> Iterator[None]:
    """Pages of source code are ranked by these weights [n_code]; None: as texts are."""
    where = "app.search.page_order.page_kind" if weights is None else "app.search.code_pages.shipped_weights"
    with mock.patch(where, return_value=weights):
        yield


def asked(search: Search, query: Query, *, order: str = "learned") -> ResultPage:
    return search.search(SearchRequest(query.text, order=order, explore=False))


def measured(repository: Repository, weights: FloatVector | None, *, order: str = "learned") -> list[float]:
    """nDCG@10 of each query, through the product."""
    with device(repository.paths, Settings()) as search, ranked_by(weights):
        pages = [(asked(search, query, order=order), query) for query in repository.queries]
        return [worth([hit.paths for hit in page.hits], query) for page, query in pages]


def judged(repository: Repository) -> list[Judged]:
    """The pages of a repository that are ranked as source code."""
    found = []
    with device(repository.paths, Settings()) as search:
        for query in repository.queries:
            page = asked(search, query)
            if page.reasons is not None and page.reasons.kind is not None:
                values = page.reasons.kind.values[page.reasons.shown[: len(page.hits)]]
                found.append(Judged(values, grades([hit.paths for hit in page.hits], query.relevant)))
    return found


def ordinary(repository: Repository) -> list[float]:
    """nDCG@10 of each query by an ordinary BM25 over the same files, their paths as titles."""
    catalogue = Catalogue.open(repository.paths.catalogue)
    rows = catalogue.documents(catalogue.doc_ids())
    documents = [
        Document(row.path, os.path.relpath(row.path, repository.root).replace("/", " "), catalogue.text(i))
        for i, row in rows.items()
    ]
    catalogue.close()
    search = ordinary_bm25.ranking(documents)
    return [worth([(path,) for path in search(query.text)], query) for query in repository.queries]


def fitted(pages: Sequence[Judged]) -> FloatVector:
    """Weights [n_code] as the module describes."""
    pairs, shares = [], []
    for values, grade in pages:
        differences = (values[grade > 0][:, None] - values[grade == 0][None]).reshape(-1, values.shape[1])
        pairs.append(differences)
        shares.append(np.full(len(differences), 1 / max(len(differences), 1)))
    z, share, weights = np.concatenate(pairs), np.concatenate(shares), np.zeros(len(CODE_NAMES))
    for _ in range(30):
        wrong = 1 / (1 + np.exp(z @ weights))
        slope = STRENGTH * weights - z.T @ (share * wrong)
        bend = (z * (share * wrong * (1 - wrong))[:, None]).T @ z + STRENGTH * np.eye(weights.size)
        weights = weights - np.linalg.solve(bend, slope)
    return np.asarray(LEAD / np.mean([_lead(values @ weights) for values, _ in pages]) * weights)


def _lead(scores: FloatVector) -> float:
    """By how many points the first leads the tenth, or the last."""
    first = np.sort(scores)[::-1][:CUTOFF]
    return float(first[0] - first[-1])


def report(found: Sequence[Repository], pages: dict[str, list[Judged]]) -> list[Table]:
    """By repository and by sort of query, each repository ranked by weights of the others."""
    columns = ("ordinary BM25", "our BM25F", "ranker of texts", "ranker of code, left out")
    rows: dict[str, list[list[float]]] = {}
    for repository in found:
        left_out = fitted([page for name, own in pages.items() if name != repository.name for page in own])
        rows[repository.name] = [
            ordinary(repository), measured(repository, None, order="bm25"), measured(repository, None),
            measured(repository, left_out),
        ]  # fmt: skip
    by_name, by_sort = Table(("repository", "queries", *columns)), Table(("queries for", "queries", *columns))
    for name, values in rows.items():
        by_name.add(name, len(values[0]), *np.mean(values, axis=1).tolist())
    every = np.concatenate([np.array(values) for values in rows.values()], axis=1)
    by_name.add("all", every.shape[1], *every.mean(axis=1).tolist())
    by_name.add(f"aim: {AIM}", *[""] * 4, verdict(bool(every[-1].mean() >= AIM)))
    sorts = np.array([query.sort for repository in found for query in repository.queries])
    for sort in sorted(set(sorts.tolist())):
        by_sort.add(sort, int((sorts == sort).sum()), *every[:, sorts == sort].mean(axis=1).tolist())
    return [by_name, by_sort]


def shipped(pages: dict[str, list[Judged]]) -> Prior:
    """The ranker made from all repositories."""
    weights = fitted([page for own in pages.values() for page in own])
    return Prior(
        v=1,
        weights={name: round(weight, 3) for name, weight in zip(CODE_NAMES, weights.tolist(), strict=True)},
        provenance={
            "made by": "python -m benchmarks code FOLDER --write",
            "method": " ".join((__doc__ or "").split("Method: ")[1].split(" Needs")[0].split()),
            "repositories": ", ".join(pages),
            "date": time.strftime("%Y-%m-%d"),
        },
    )


def main() -> None:
    """Print the tables; with --write, write the shipped weights."""
    wanted = arguments(__doc__, folder=Path, write=False)
    ordinary_bm25.required()
    found = list(repositories(wanted.folder, Settings()))
    pages = {repository.name: judged(repository) for repository in found}
    print(machine(), *report(found, pages), sep="\n\n")
    if wanted.write:
        WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(shipped(pages)), indent=2) + b"\n")
        print(f"\nwrote {WEIGHTS.name}")
