"""Make the shipped ranker, app/prior.json, from the open text collections.

Method: at most 300 random queries of each collection; the weights start from values set by hand (`START`: BM25F, and
what puts a known title or name first). First they descend the ListNet loss of the collections' queries and, at
KNOWN_SHARE, of known titles, plus HOLD times the square of each weight's distance from the start, which helps
collections that it has not seen, too. Then they move by coordinate ascent on nDCG@10 of the queries plus half the
reciprocal rank of known titles, minus PENALTY for each point that a weight moves. In the end all are scaled so that the
first result leads the tenth by LEAD points. No weight becomes negative. Weights of the user's own picks cannot be
learned from collections; `benchmarks.refinding` and `benchmarks.preferences` say why they are what they are.

The collections are those of the shared folder and, in folders of the same form, three more that the Glasgow group
publishes (CACM, LISA, NPL). `python -m benchmarks start_model` then gives the weights to new groups.

    python -m benchmarks train_prior FOLDER ...            the table, leaving the tested collection out
    python -m benchmarks train_prior FOLDER ... --write    and app/prior.json from all of them
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

import app
from app.learning.prior import Prior
from app.settings import Settings
from benchmarks import collections, ordinary_bm25
from benchmarks.devices import Library, device, libraries
from benchmarks.judged import Batch, judged_pages, known_item_page
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, change, machine, verdict
from foltr.arrays import FloatVector
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from indexer.text.language import is_function_word

START = {
    "bm25f": 8.0, "title_exact": 3.0, "name_exact": 3.0, "title_phrase": 2.0, "title_ordered": 1.0, "title_share": 0.5,
    "name_share": 1.0, "body_phrase": 1.0, "surface_share": 0.2,
    # A page made for reading wins over its source where nothing else tells the two apart.
    "is_html": 0.02, "is_document": 0.02,
}  # fmt: skip
PICKS = {
    # Three picks (strength .84) outdo any BM25F score; one (.06) is worth less than a phrase in the text.
    "same_query": 10.0, "similar_query": 1.5,
    # What was opened moves other queries by habits alone (app.learning.votes): for "opened", "opened_recently" even .02
    # cost 2 % on held-out queries, and .25 for "folder_share" changed 16 % of all pages after one opening.
}  # fmt: skip
"""weights of the user's own picks"""
MEANING = 5.0
"""points of its weight, chosen by `benchmarks.meaning`: these pages hold no vectors"""
LEAD = 3.75
"""points by which the first result leads the tenth, in the mean; what learning may move is measured against it"""
TUNED = (
    *(f"{field}_{kind}" for field in ("title", "body") for kind in (
        "bm25", "tf_idf_sum", "tf_idf_max", "tf_idf_mean", "coverage", "language_model", "tf")),
    "any_coverage", "least_tf", "surface_share", "body_phrase", "body_ordered", "body_near", "body_early",
    "title_phrase", "title_ordered", "title_share",
)  # fmt: skip
KNOWN_SHARE = 0.25
HOLD = 0.003
N_STEPS, STEP = 150, 0.05
STEPS = (-1.0, -0.5, -0.25, 0.25, 0.5, 1.0)
PENALTY = 0.0005
KNOWN_WEIGHT = 0.5
MAX_PASSES = 4
SEED = 7
N_KNOWN = 60
"""known items of each kind and collection"""
N_QUERIES = 300
"""judged queries of each collection"""


def vector(weights: dict[str, float]) -> FloatVector:
    """Named weights in the order of the manifest."""
    return np.array([weights.get(name, 0.0) for name in NAMES])


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """The pages of one collection."""

    queries: Batch
    known: tuple[Batch, ...]
    ordinary: float
    """nDCG@10 of an ordinary BM25"""


def training(library: Library, settings: Settings, rng: np.random.Generator) -> Training:
    """Search everything that is needed of one collection."""
    ordinary = float(ordinary_bm25.ndcg(library.collection).mean())
    with device(library.paths, settings) as search:
        pages = judged_pages(search, library)
        known = []
        for whole in (True, False):
            asked = known_items(library.collection, rng, whole=whole)
            if asked:
                known.append([known_item_page(search, library, text, wanted) for text, wanted in asked])
    return Training(Batch(pages), tuple(Batch(own) for own in known), ordinary)


def known_items(collection: collections.Collection, rng: np.random.Generator, *, whole: bool) -> list[tuple[str, str]]:
    """(query, document id): titles as queries, whole or three neighbouring words of each."""
    titled = [d for d in collection.documents if len(d.title.split()) > 1]
    asked: list[tuple[str, str]] = []
    for i in rng.permutation(len(titled))[:N_KNOWN].tolist():
        words = collections.plain(titled[i].title).split()
        if not whole:
            words = [w for w in words if len(w) > 2 and not is_function_word(w, ("en",))] or words
            start = int(rng.integers(0, max(len(words) - 3, 0) + 1))
            words = words[start : start + 3]
        asked.append((" ".join(words), titled[i].id))
    return asked


def descend(parts: list[Training], start: FloatVector) -> FloatVector:
    """ListNet by Adam (Kingma and Ba 2015) from `start`, as the module describes."""
    batches = [(part.queries, 1 / len(parts)) for part in parts]
    batches += [(batch, KNOWN_SHARE / len(parts)) for part in parts for batch in part.known]
    learned = np.isin(NAMES, ("bm25f", "title_exact", *TUNED))
    theta, steepness = start.copy(), 0.0
    first, second = np.zeros((2, theta.size + 1))
    for step in range(1, N_STEPS + 1):
        gradient = np.append(2 * HOLD * (theta - start), 0.0)
        for batch, share in batches:
            down, steeper = batch.listwise_gradient(theta, float(np.exp(steepness)))
            gradient += share * np.append(down, steeper)
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        move = STEP * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-9)
        theta = np.where(learned, np.maximum(theta - move[:-1], 0), theta)
        steepness -= float(move[-1])
    return theta


def learn(parts: list[Training]) -> FloatVector:
    """The weights of these collections, before they are scaled."""
    return ascend(parts, descend(parts, vector(START)))


def ascend(parts: list[Training], start: FloatVector) -> FloatVector:
    """Coordinate ascent from `start`, as the module describes."""

    batches = [(batch, batch.ndcg_of, 1 / len(parts)) for batch in (part.queries for part in parts)]
    known = [batch for part in parts for batch in part.known]
    batches += [(batch, batch.reciprocal_rank_of, KNOWN_WEIGHT / len(known)) for batch in known]
    theta = start.copy()
    scores = [batch.scores(theta) for batch, _, _ in batches]

    def worth(feature: int, step: float) -> float:
        found = sum(
            share * float(value(own + step * batch.column(feature)).mean())
            for (batch, value, share), own in zip(batches, scores, strict=True)
        )
        away = np.abs(theta - start)
        away[feature] = abs(theta[feature] + step - start[feature])
        return found - PENALTY * float(away.sum())

    best = worth(0, 0.0)
    for _ in range(MAX_PASSES):
        before = best
        for feature in map(NAMES.index, TUNED):
            for step in STEPS:
                allowed = max(step, -theta[feature])
                value = worth(feature, allowed) if allowed else best
                if value > best + 1e-5:
                    best, theta[feature] = value, theta[feature] + allowed
                    moved = (allowed * batch.column(feature) for batch, _, _ in batches)
                    scores = [own + by for own, by in zip(scores, moved, strict=True)]
        if best - before < 1e-4:
            break
    return theta


def report(parts: dict[str, Training]) -> Table:
    """nDCG@10 of an ordinary BM25, of our BM25F, and of the prior that never saw the collection."""
    table = Table(("collection", "ordinary BM25", "our BM25F", "prior, left out", "over ordinary", "over our BM25F"))
    plain = vector({"bm25f": 1.0})
    rows: list[tuple[float, float, float]] = []
    for name, part in parts.items():
        theta = learn([other for key, other in parts.items() if key != name])
        ordinary, ours, prior = part.ordinary, *(float(part.queries.ndcg(t).mean()) for t in (plain, theta))
        rows.append((ordinary, ours, prior))
        table.add(name, ordinary, ours, prior, change(prior, ordinary), change(prior, ours))
    ordinary, ours, prior = (float(np.mean(column)) for column in zip(*rows, strict=True))
    table.add("mean", ordinary, ours, prior, change(prior, ordinary), change(prior, ours))
    worst = min(prior / ordinary - 1 for ordinary, _, prior in rows)
    gains = f"+3 %: {verdict(prior >= 1.03 * ordinary)}", f"+1 %: {verdict(prior >= 1.01 * ours)}"
    table.add("aim", "", "", "mean", *gains)
    table.add("aim", "", "", "each", f"-1 %: {verdict(worst >= -0.01)} ({100 * worst:+.1f} %)", "")
    return table


def shipped(parts: dict[str, Training], folders: tuple[str, ...]) -> Prior:
    """The prior made from all collections."""
    theta = learn(list(parts.values()))
    theta *= LEAD / np.mean([part.queries.lead(theta).mean() for part in parts.values()])
    theta[NAMES.index("meaning")] = MEANING
    weights = {name: round(float(w), 3) for name, w in zip(NAMES, theta, strict=True) if w} | PICKS
    return Prior(
        v=1,
        weights=weights,
        provenance={
            "made by": "python -m benchmarks train_prior cacm lisa npl --write",
            "method": " ".join((__doc__ or "").split("Method: ")[1].split("\n\n")[0].split()),
            "collections": ", ".join(parts),
            "collections hash": collections_hash(folders),
            "features hash": MANIFEST_HASH,
            "seed": str(SEED),
            "date": time.strftime("%Y-%m-%d"),
        },
    )


def collections_hash(names: tuple[str, ...]) -> str:
    """BLAKE2b over the files of the collections, in order."""
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        for file in ("documents.jsonl", "queries.tsv", "qrels.txt"):
            digest.update((collections.shared_folder() / "data" / "text" / name / file).read_bytes())
    return digest.hexdigest()


def main() -> None:
    """Print the table; with --write, write the shipped prior."""
    wanted = arguments(__doc__, further=Option([Path], "folders of further collections"), write=False)
    ordinary_bm25.required()
    settings, rng = Settings(), np.random.default_rng(SEED)
    folders = (*collections.ALL, *map(str, wanted.further))
    with libraries(settings, folders, n_queries=N_QUERIES) as found:
        parts = {name: training(library, settings, rng) for name, library in found.items()}
    print(machine(), report(parts), sep="\n\n")
    if wanted.write:
        path = Path(app.__path__[0]) / "prior.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(shipped(parts, folders)), indent=2) + b"\n")
        print(f"\nwrote {path.name}")
