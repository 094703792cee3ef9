"""The data sets of the field: what each must look like, who publishes it, and under which conditions.

None of them may be passed on by us but `sample` and the synthetic ones, which are of our own making.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Layout = Literal["folds", "one split", "test parts", "generated"]
"""folds: Fold1, Fold2, ... each with train, validation and test file; one split: these files once; test parts: disjoint
files Fold1_test, Fold2_test, ..., where fold i tests on part i and trains on all others; generated: no files"""


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What a name promises; a set that does not keep it is refused."""

    title: str
    n_features: int
    top_grade: int
    """grades run from 0 to this"""
    n_folds: int
    layout: Layout
    folders: tuple[str, ...]
    """the names its folder may have; capitals do not matter"""
    page: str
    """where its owner publishes it"""
    licence: str
    """the question of the licence in a sentence"""
    normalise: str
    """what `load_fold` does unless asked otherwise; see simulation.normalisation"""
    dense: bool = True
    """every training file mentions the last feature; False where features with the value 0 are left out"""
    big_valued: bool = False
    """raw counts that span orders of magnitude: without a logarithm one large value hides the rest of a query"""
    sample: bool = False
    """a small part or an imitation: results say nothing about the whole set"""


_LETOR_4 = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
_MSLR = "https://www.microsoft.com/en-us/research/project/mslr/"
_ISTELLA = "http://quickrank.isti.cnr.it/istella-dataset/"
_OURS = "Made by this program; it comes under the program's own licence."
_ASK_MICROSOFT = "Microsoft offers it for research; whether your use is covered is between you and the licence there."
_ASK_ISTELLA = "Istella asks for agreement to a licence for non-commercial research before the download."

DATASETS: dict[str, DatasetInfo] = {
    "mslr": DatasetInfo(
        "MSLR-WEB10K, 10,000 queries of Bing", 136, 4, 5, "folds", ("MSLR-WEB10K", "WEB10K", "mslr", "mslr10k"),
        _MSLR, _ASK_MICROSOFT, "log-min-max", big_valued=True,
    ),
    "mslr30k": DatasetInfo(
        "MSLR-WEB30K, 30,000 queries of Bing", 136, 4, 5, "folds", ("MSLR-WEB30K", "WEB30K", "mslr30k"),
        _MSLR, _ASK_MICROSOFT, "log-min-max", big_valued=True,
    ),
    "mslr-sample": DatasetInfo(
        "a small part of MSLR, one fold; not WEB10K", 136, 4, 1, "folds", ("MSLR-sample",),
        _MSLR, _ASK_MICROSOFT, "log-min-max", big_valued=True, sample=True,
    ),
    "mq2007": DatasetInfo(
        "LETOR 4.0 MQ2007, 1,692 queries on .gov", 46, 2, 5, "folds", ("MQ2007",), _LETOR_4, _ASK_MICROSOFT, "none",
    ),
    "mq2008": DatasetInfo(
        "LETOR 4.0 MQ2008, 784 queries on .gov", 46, 2, 5, "folds", ("MQ2008",), _LETOR_4, _ASK_MICROSOFT, "none",
    ),
    "yahoo": DatasetInfo(
        "Yahoo! Learning to Rank Challenge (C14), set 1, 29,921 queries", 700, 4, 1, "one split",
        ("ltrc_yahoo", "yahoo", "Yahoo-LTRC", "set1"), "https://research.yahoo.com/datasets",
        "Yahoo gives it to applicants from universities, for research that is not commercial.", "none", dense=False,
    ),
    "istella": DatasetInfo(
        "Istella LETOR, 33,018 queries", 220, 4, 1, "one split", ("istella", "istella-letor", "full"),
        _ISTELLA, _ASK_ISTELLA, "log-min-max", big_valued=True,
    ),
    "istella-s": DatasetInfo(
        "Istella-S LETOR, the smaller one of the owner's two", 220, 4, 1, "one split",
        ("istella-s", "istella-s-letor", "sample"), _ISTELLA, _ASK_ISTELLA, "log-min-max", big_valued=True,
    ),
    "clueweb09": DatasetInfo(
        "ClueWeb09 features, 61 queries of the TREC Web Tracks 2009-2012", 42, 4, 5, "test parts", ("ClueWeb09",),
        "https://github.com/webis-de/sigir20-sampling-bias-due-to-near-duplicates-in-learning-to-rank",
        "Creative Commons Attribution-ShareAlike 4.0: name the authors, pass changes on alike.", "none",
    ),
    "synthetic": DatasetInfo(
        "made up, shaped like MSLR; ranks nobody's documents", 136, 4, 5, "generated", (), "", _OURS, "log-min-max",
        big_valued=True, sample=True,
    ),
    "synthetic-mq2007": DatasetInfo(
        "made up, shaped like MQ2007; ranks nobody's documents", 46, 2, 5, "generated", (), "", _OURS, "none",
        sample=True,
    ),
    "sample": DatasetInfo(
        "60 made-up queries that come with the program", 46, 2, 3, "test parts", ("letor-60",), "", _OURS, "none",
        sample=True,
    ),
}  # fmt: skip
