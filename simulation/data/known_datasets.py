"""The data sets of the field, and where they are on disk; looks only at names of files and needs no compiler.

Each entry says what a data set must look like, who publishes it, and under which conditions: we may pass on none but
`sample` and the synthetic ones, which are of our own making. They lie in the folder of `--data`, else of
FOLTR_DATASETS, else of the laboratory's own settings file: simulation.toml in the configuration folder of foltr-search
(FOLTR_CONFIG_DIR, else the platform's), with one line, `datasets = "/path/to/data"`. The device's config.toml is the
device's alone. Folds are found in the layouts that owners use, and in the spellings that they take on disk.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from simulation.errors import DatasetError, PresetError

Layout = Literal["folds", "one split", "test parts", "whole", "log", "generated"]
"""folds: Fold1, Fold2, ... each with train, validation and test file; one split: these files once; test parts: disjoint
files Fold1_test, Fold2_test, ..., where fold i tests on part i and trains on all others; whole: such parts as one fold,
tested on what it trains on; log: letor.txt and metadata.csv, which says who asked when; generated: no files"""


class DatasetInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    """what `load_fold` does unless asked otherwise; see simulation.data.queries

    Raw counts span orders of magnitude: without a logarithm one large value hides the rest of a query.
    """
    dense: bool = True
    """every training file mentions the last feature; False where features with the value 0 are left out"""
    sample: bool = False
    """a small part or an imitation: results say nothing about the whole set"""
    stand_ins: tuple[str, ...] = ()
    """the sets that may run in its place where it is not here, the first that is; the last is made up"""
    n_queries: int = 0
    """in all parts of a fold, as its owner says; 0 where `digests` say more"""
    digests: tuple[str, ...] = ()
    """of its folds, as simulation.data.datasets.fold_digest has them; () for a set that was never at hand here"""
    labels: tuple[str, ...] = ()
    """files of judgements in its folder: the grades, in place of those beside the features, then the label sets"""


_TABLES = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
DATASETS = msgspec.convert(_TABLES, dict[str, DatasetInfo])
"""all by name"""

_ENDINGS = ("", ".gz", ".bz2", ".xz")
_PARTS = {
    "train": ("train.txt", "set1.train.txt", "train.letor", "train.svm", "train.dat"),
    "validation": (
        "vali.txt", "valid.txt", "validation.txt", "val.txt", "set1.valid.txt", "vali.letor", "vali.svm", "vali.dat",
    ),
    "test": ("test.txt", "set1.test.txt", "test.letor", "test.svm", "test.dat"),
}  # fmt: skip
_FOLD = re.compile(r"fold[-_ ]?(\d{1,3})", re.IGNORECASE)
_TEST_PART = re.compile(r"fold[-_ ]?(\d{1,3})[-_]test\.(?:txt|letor|svm|dat)(?:\.gz|\.bz2|\.xz)?", re.IGNORECASE)


class FoldFiles(msgspec.Struct, frozen=True):
    """The files of one fold; several are one after the other."""

    train: tuple[Path, ...]
    test: tuple[Path, ...]
    validation: tuple[Path, ...] = ()

    @property
    def all(self) -> tuple[Path, ...]:
        return (*self.train, *self.test, *self.validation)


def find_folds(folder: Path) -> dict[int, FoldFiles]:
    """The folds in a folder by their numbers, {} when there are none.

    Fold1, Fold2, ... with train and test files come first; then disjoint parts Fold1_test.txt, ..., of which fold i
    tests on part i and trains on all others; then train and test files in the folder itself, as fold 1.
    """
    if not folder.is_dir():
        return {}
    entries = entries_of(folder)
    numbered = ((match, path) for path in entries if path.is_dir() and (match := _FOLD.fullmatch(path.name)))
    folds = {int(match[1]): split for match, path in numbered if (split := _split(path)) is not None}
    if folds:
        return dict(sorted(folds.items()))
    parts = {int(match[1]): path for path in entries if path.is_file() and (match := _TEST_PART.fullmatch(path.name))}
    if len(parts) > 1:
        parts = dict(sorted(parts.items()))
        return {n: FoldFiles(tuple(p for m, p in parts.items() if m != n), (path,)) for n, path in parts.items()}
    split = _split(folder)
    return {1: split} if split is not None else {}


class LogFiles(NamedTuple):
    """The files of a log of searches."""

    letor: Path
    metadata: Path


def find_log(folder: Path) -> LogFiles | None:
    """The two files of a log in a folder; None unless both are there."""
    letor, metadata = (_first(folder, (name,)) for name in ("letor.txt", "metadata.csv"))
    return LogFiles(*letor, *metadata) if letor and metadata else None


def entries_of(folder: Path) -> list[Path]:
    """What a folder holds, sorted; DatasetError where it may not be looked into."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DatasetError(f"{folder} cannot be read: {error.strerror or error}") from error


def _split(folder: Path) -> FoldFiles | None:
    """Train, validation and test file of one folder, in any capitals; None without the first and the last.

    DatasetError where a folder is named as a fold, and one of these two is there alone.
    """
    found = {part: _first(folder, names) for part, names in _PARTS.items()}
    if found["train"] and found["test"]:
        return FoldFiles(**found)
    if (alone := found["train"] or found["test"]) and _FOLD.fullmatch(folder.name):
        raise DatasetError(f"{folder} has no {'test' if found['train'] else 'train'} file beside {alone[0].name}")
    return None


def _first(folder: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    """The first spelling that is there, plain before compressed; capitals do not matter."""
    there = {path.name.lower(): path for path in entries_of(folder) if path.is_file()}
    spellings = (name + ending for ending in _ENDINGS for name in names)
    return next(((there[spelling],) for spelling in spellings if spelling in there), ())


PARTS_OF_A_FILE = 5
"""folds that one file makes"""

_SAMPLES = Path(__file__).parents[1] / "samples"

_EXPECTED = {
    "folds": "Fold1, Fold2, ... with train.txt, test.txt and perhaps vali.txt each (or .gz, .bz2, .xz)",
    "one split": "train.txt and test.txt, perhaps vali.txt (Yahoo: set1.train.txt and so on; or .gz, .bz2, .xz)",
    "test parts": "the disjoint files Fold1_test.txt, Fold2_test.txt, ... (or .gz, .bz2, .xz)",
    "whole": "the disjoint files Fold1_test.txt, Fold2_test.txt, ... (or .gz, .bz2, .xz) and judgements:",
    "log": "letor.txt and metadata.csv (or .gz, .bz2, .xz)",
}


def folds_present(name_or_path: str | Path, root: Path | None = None) -> tuple[int, ...]:
    """The numbers of the folds that are there; DatasetError when there is none."""
    info = DATASETS.get(str(name_or_path))
    if info is not None and info.layout == "generated":
        return tuple(range(1, info.n_folds + 1))
    place = dataset_place(name_or_path, root)
    if info is not None and info.layout in ("log", "whole"):
        return (1,)
    return tuple(range(1, PARTS_OF_A_FILE + 1)) if place.is_file() else tuple(find_folds(place))


def substitute(name: str, root: Path | None) -> str:
    """The first stand-in of a registered data set that is here; "" where it has none."""
    return next((other for other in DATASETS[name].stand_ins if is_here(other, root)), "")


def is_here(name: str, root: Path | None) -> bool:
    """Whether any fold of a data set is there."""
    try:
        return bool(folds_present(name, root))
    except DatasetError:
        return False


def dataset_place(name_or_path: str | Path, root: Path | None = None) -> Path:
    """The folder or file where a data set is; DatasetError says what was looked for."""
    info = DATASETS.get(str(name_or_path))
    if str(name_or_path) == "sample":
        return _SAMPLES / DATASETS["sample"].folders[0]
    if info is not None:
        return _named_folder(str(name_or_path), info, root)
    place = Path(name_or_path)
    if place.is_file() or find_folds(place):
        return place
    known = ", ".join(DATASETS)
    if not place.exists():
        raise DatasetError(f"{name_or_path} is neither a data set ({known}) nor a file or folder")
    came = [path.relative_to(place).as_posix() for path in islice(place.rglob("*"), 1_000) if path.is_file()]
    wanted = f"{_EXPECTED['folds']}, or {_EXPECTED['one split']}, was expected"
    raise DatasetError(f"{place}: {wanted}, {', '.join(came[:5]) or 'no file'} came")


def _named_folder(name: str, info: DatasetInfo, root: Path | None) -> Path:
    """The folder of a registered data set below `root`, or `root` itself unless its name is that of another set."""
    if root is not None and root.is_dir():
        accepted = {folder.lower() for folder in info.folders}
        below = [path for path in entries_of(root) if path.name.lower() in accepted]
        others = {folder.lower() for other in DATASETS.values() for folder in other.folders} - accepted
        itself = [root] if root.resolve().name.lower() not in others else []
        for folder in (*below, *itself):
            found = find_log(folder) if info.layout == "log" else find_folds(folder)
            if found and all((folder / file).is_file() for file in info.labels):
                return folder
    where = f"not in {root}" if root is not None else "no folder of data was named"
    raise DatasetError(
        f"{name} ({info.title}) is not there: {where}. Its owner publishes it at {info.page}. "
        f"Expected: a folder {' or '.join(info.folders)} with {' '.join([_EXPECTED[info.layout], *info.labels])}. "
        f"{info.licence} --data DIR or FOLTR_DATASETS names the folder; "
        f"`{(info.stand_ins or ('synthetic',))[-1]}` needs no data."
    )


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of simulation.toml."""

    datasets: str = ""


def data_folder(option: str | None, environment: Mapping[str, str]) -> Path | None:
    """The folder of data sets, or None when nobody has named one; it need not exist."""
    named = option or environment.get("FOLTR_DATASETS") or _from_file(settings_file(environment))
    return Path(os.path.expanduser(named)) if named else None


def settings_file(environment: Mapping[str, str]) -> Path:
    """The laboratory's settings file, which need not exist."""
    folder = environment.get("FOLTR_CONFIG_DIR", "")
    if folder:
        return Path(os.path.expanduser(folder)) / "simulation.toml"
    import platformdirs

    return Path(platformdirs.user_config_path("foltr-search", appauthor=False)) / "simulation.toml"


def _from_file(path: Path) -> str:
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).datasets
    except FileNotFoundError:
        return ""
    except ValueError as error:  # TOML's, Unicode's and msgspec's errors are ValueErrors
        raise PresetError(f"{path}: {error}") from error
