"""Where data sets are on disk, and which folds of them; looks at names of files alone and needs no compiler."""

from __future__ import annotations

from pathlib import Path

from simulation.dataset_info import DATASETS, DatasetInfo
from simulation.errors import DatasetError
from simulation.fold_files import entries_of, find_folds

PARTS_OF_A_FILE = 5
"""folds that one file makes"""

_SAMPLES = Path(__file__).parent / "samples"

_EXPECTED = {
    "folds": "Fold1, Fold2, ... with train.txt, vali.txt and test.txt each (or .txt.gz, .txt.xz)",
    "one split": "train.txt and test.txt, perhaps vali.txt (Yahoo: set1.train.txt and so on; or .txt.gz, .txt.xz)",
    "test parts": "the disjoint files Fold1_test.txt, Fold2_test.txt, ... (or .txt.gz, .txt.xz)",
}


def folds_present(name_or_path: str | Path, root: Path | None = None) -> tuple[int, ...]:
    """The numbers of the folds that are there; DatasetError when there is none."""
    info = DATASETS.get(str(name_or_path))
    if info is not None and info.layout == "generated":
        return tuple(range(1, info.n_folds + 1))
    place = dataset_place(name_or_path, root)
    return tuple(range(1, PARTS_OF_A_FILE + 1)) if place.is_file() else tuple(find_folds(place))


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
    raise DatasetError(f"{place}: {_EXPECTED['folds']}, or {_EXPECTED['one split']}, was expected")


def _named_folder(name: str, info: DatasetInfo, root: Path | None) -> Path:
    """The folder of a registered data set below `root`, or `root` itself unless its name is that of another set."""
    if root is not None and root.is_dir():
        accepted = {folder.lower() for folder in info.folders}
        below = [path for path in entries_of(root) if path.name.lower() in accepted]
        others = {folder.lower() for other in DATASETS.values() for folder in other.folders} - accepted
        itself = [root] if root.resolve().name.lower() not in others else []
        for folder in (*below, *itself):
            if find_folds(folder):
                return folder
    where = f"not in {root}" if root is not None else "no folder of data was named"
    raise DatasetError(
        f"{name} ({info.title}) is not there: {where}. Its owner publishes it at {info.page}. "
        f"Expected: a folder {' or '.join(info.folders)} with {_EXPECTED[info.layout]}. {info.licence}"
    )
