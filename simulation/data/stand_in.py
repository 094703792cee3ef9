"""What runs in place of a data set that is not here, and how that is said wherever results are shown.

Sets that may not be passed on have stand-ins (`DatasetInfo.stand_ins`): a small part of them that the user has, else
one of our own making in their shape. Numbers on a stand-in say nothing about the set, so they are never put beside a
paper's.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from simulation.data.places import DATASETS, folds_present
from simulation.errors import DatasetError, PresetError
from simulation.preset import Data, Expect, Preset


def with_stand_in(preset: Preset, root: Path | None, *, insist: bool) -> Preset:
    """The preset, on the first stand-in that is here where its data set is not; [expect] is left out then.

    insist  the user has just named `root` as the place of the data: nothing made up runs in their place, which a
            slip in the path would look like; a part of the real set does
    Where nothing stands in, the preset as it is.
    """
    if named := preset.data.in_place_of:
        if named not in DATASETS:
            raise PresetError(f"data.in_place_of: no data set {named!r}; there are {', '.join(DATASETS)}")
        return msgspec.structs.replace(preset, expect=Expect())
    wanted = preset.data.dataset
    name = "" if wanted not in DATASETS or _is_here(wanted, root) else substitute(wanted, root)
    if not name or (insist and DATASETS[name].layout == "generated"):
        return preset
    data = msgspec.structs.replace(preset.data, dataset=name, in_place_of=wanted)
    return msgspec.structs.replace(preset, data=data, expect=Expect())


def substitute(name: str, root: Path | None) -> str:
    """The first stand-in of a registered data set that is here; "" where it has none."""
    return next((other for other in DATASETS[name].stand_ins if _is_here(other, root)), "")


def stand_in(data: Data) -> str:
    """`NOT MSLR-WEB10K: synthetic, made up, shaped like MSLR`, for titles and notes; "" where nothing stands in."""
    if not data.in_place_of:
        return ""
    runs = DATASETS.get(data.dataset)
    what = f"{data.dataset}, {runs.title.partition(';')[0]}" if runs else "other data"
    return f"NOT {DATASETS[data.in_place_of].title.partition(',')[0]}: {what}"


def real_data(data: Data) -> str:
    """How the set that was asked for is given; "" where nothing stands in."""
    if not data.in_place_of:
        return ""
    info = DATASETS[data.in_place_of]
    return f"the real set: from {info.page}, then --data DIR with {' or '.join(info.folders[:2])} in DIR"


def _is_here(name: str, root: Path | None) -> bool:
    try:
        return bool(folds_present(name, root))
    except DatasetError:
        return False
