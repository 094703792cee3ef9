"""AutoTAR as Cormack and Grossman published it, written independently of the program, for `benchmarks.review`.

"Autonomy and reliability of continuous active learning for technology-assisted review" (2015), with the features and
the learner of their Baseline Model Implementation (TREC 2015 Total Recall): stems of words in two documents or more,
(1 + ln tf) ln(N / df), length 1; Sofia-ML's logistic Pegasos over pairs (loop "roc", lambda .0001, 200,000 steps). The
query is the first relevant document; 100 random documents are presumed not to be; batches grow by a tenth.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

LAMBDA = 1e-4
STEPS = 200_000
N_PRESUMED = 100
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Texts:
    """Texts as sparse rows."""

    def __init__(self, texts: Sequence[str]) -> None:
        stem = importlib.import_module("Stemmer").Stemmer("porter").stemWord
        self._counts = [Counter(map(stem, re.findall(r"[a-z][a-z0-9]+", text.lower()))) for text in texts]
        df = Counter(word for counts in self._counts for word in counts)
        words = [word for word, n in df.items() if n > 1]
        self._columns = {word: i for i, word in enumerate(words)}
        self._idf = np.log(len(texts) / np.array([df[word] for word in words]))
        self.n_words, self._stem = len(words), stem
        self.rows = [self._row(counts) for counts in self._counts]

    def row(self, text: str) -> tuple[Ints, Floats]:
        """Columns and values of another text."""
        return self._row(Counter(map(self._stem, re.findall(r"[a-z][a-z0-9]+", text.lower()))))

    def _row(self, counts: Counter[str]) -> tuple[Ints, Floats]:
        known = [(self._columns[word], n) for word, n in counts.items() if word in self._columns]
        columns = np.array([column for column, _ in known], dtype=np.int64)
        values = (1 + np.log(np.array([n for _, n in known], dtype=np.float64))) * self._idf[columns]
        return columns, values / max(float(np.sqrt(values @ values)), 1e-9)


def order(texts: Texts, query: str, relevant: npt.NDArray[np.bool_], *, share: float, seed: int = 0) -> list[int]:
    """The documents as they are read, until `share` of the relevant ones are found."""
    luck, rows = np.random.default_rng(seed), [*texts.rows, texts.row(query)]
    columns = np.concatenate([columns for columns, _ in rows])
    values = np.concatenate([values for _, values in rows])
    ends = np.cumsum([columns.size for columns, _ in rows])
    read: list[int] = []
    batch, goal = 1, np.ceil(share * relevant.sum())
    while relevant[read].sum() < goal:
        unread = np.setdiff1d(np.arange(relevant.size), read)
        presumed = luck.choice(unread, min(N_PRESUMED, unread.size), replace=False)
        wanted = np.array([*(i for i in read if relevant[i]), relevant.size])
        others = np.array([*(i for i in read if not relevant[i]), *presumed])
        weights = _pegasos(columns, values, ends, wanted, others, texts.n_words, int(luck.integers(1 << 31)))
        scores = _scores(columns, values, ends, weights)[:-1]
        read += unread[np.argsort(-scores[unread], kind="stable")[:batch]].tolist()
        batch += -(-batch // 10)
    return read


@numba.njit(cache=False)
def _pegasos(
    columns: Ints, values: Floats, ends: Ints, wanted: Ints, others: Ints, n_words: int, seed: int
) -> Floats:  # fmt: skip
    """Stochastic descent on ln(1 + exp(-w.(p - n))) over random pairs of a wanted p and another n."""
    np.random.seed(seed)
    weights, scale, norm = np.zeros(n_words), 1.0, 0.0
    for step in range(1, STEPS + 1):
        eta = 1.0 / (LAMBDA * step)
        pair = (wanted[np.random.randint(wanted.size)], others[np.random.randint(others.size)])
        lead = 0.0
        for side in range(2):
            start = ends[pair[side] - 1] if pair[side] else 0
            for i in range(start, ends[pair[side]]):
                lead += (1.0 - 2.0 * side) * values[i] * weights[columns[i]]
        pull = eta / (1.0 + np.exp(min(scale * lead, 500.0)))
        if step > 1:
            scale *= 1.0 - eta * LAMBDA
        norm *= (1.0 - eta * LAMBDA) ** 2
        for side in range(2):
            start = ends[pair[side] - 1] if pair[side] else 0
            for i in range(start, ends[pair[side]]):
                before = scale * weights[columns[i]]
                after = before + (1.0 - 2.0 * side) * pull * values[i]
                norm += after * after - before * before
                weights[columns[i]] = after / scale
        if norm > 1.0 / LAMBDA:
            scale *= np.sqrt(1.0 / (LAMBDA * norm))
            norm = 1.0 / LAMBDA
        if scale < 1e-9:
            weights *= scale
            scale = 1.0
    return weights * scale


@numba.njit(cache=False)
def _scores(columns: Ints, values: Floats, ends: Ints, weights: Floats) -> Floats:
    found = np.zeros(ends.size)
    for row in range(ends.size):
        for i in range(ends[row - 1] if row else 0, ends[row]):
            found[row] += values[i] * weights[columns[i]]
    return found
