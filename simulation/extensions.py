"""Extensions: methods, rules, attacks and more, in a user's own file or in an installed package.

A file says what it brings in dicts named as the registries that they join:

    METHODS = {"sign-pdgd": SignPDGD}        RULES, ATTACKS, PARTITIONS, CLICK_MODELS, UNLEARNING, MEASUREMENTS

It is named in a preset, `with = ["my_method.py"]`, or on the command line; a package by an entry point of the group
`foltr_search.laboratory` whose object is such a module. Its digest stands beside those of the data, so that a run does
not go on with other code. A file is loaded anew for every cell, and random numbers that it draws without being given a
generator follow from the cell: what it keeps of one cell does not reach the next, and rows do not depend on which cells
a process has run before.
"""

from __future__ import annotations

import hashlib
import os
import sys
import traceback
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from importlib import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from foltr.errors import FoltrError
from foltr.federated.aggregation.registry import RULES
from foltr.federated.aggregation.rows import RuleSettings
from foltr.federated.registry import METHODS
from simulation.attacks import AttackSettings
from simulation.attacks.registry import ATTACKS
from simulation.errors import PresetError
from simulation.partitions import PARTITIONS, PartitionSettings
from simulation.rounds.numbered_models import CLICK_MODELS, ClickModel
from simulation.studies.registry import MEASUREMENTS
from simulation.unlearning import UNLEARNING
from simulation.unlearning.past import UnlearningSettings

ENTRY_POINTS = "foltr_search.laboratory"

REGISTRIES: dict[str, dict[str, Any]] = {
    "METHODS": METHODS,
    "RULES": RULES,
    "ATTACKS": ATTACKS,
    "PARTITIONS": PARTITIONS,
    "CLICK_MODELS": CLICK_MODELS,
    "UNLEARNING": UNLEARNING,
    "MEASUREMENTS": MEASUREMENTS,
}

KINDS: dict[str, tuple[type, str]] = {
    "RULES": (RuleSettings, "combine"),
    "ATTACKS": (AttackSettings, "send"),
    "PARTITIONS": (PartitionSettings, "split"),
    "CLICK_MODELS": (ClickModel, "users"),
    "UNLEARNING": (UnlearningSettings, "forget"),
}
"""what an entry has to inherit from, and to say itself"""

_loaded: dict[str, tuple[str, ModuleType]] = {}
"""digest and module by name"""


def load(names: Iterable[str]) -> dict[str, str]:
    """Add to the registries what these files and packages bring; their digests by name, without folders.

    Of files of one name in several folders the second has " (2)" behind it, and so on. PresetError for what is not
    there, brings nothing, fails, or takes a name that is taken.
    """
    seen, digests = Counter[str](), dict[str, str]()
    for name in names:
        seen[plain := Path(name).name] += 1
        digests[f"{plain} ({seen[plain]})" if seen[plain] > 1 else plain] = _load(name)[0]
    return digests


def load_anew(names: Iterable[str]) -> None:
    """The files as if nothing had run in this process before."""
    for name in names:
        _load(name, anew=True)


@contextmanager
def placed() -> Iterator[None]:
    """An error that a loaded file raises is a PresetError that names file and line; one of our own stays."""
    try:
        yield
    except FoltrError:
        raise
    except (Exception, SystemExit) as error:
        files = {str(module.__file__) for _, module in _loaded.values()}
        if not (place := _place(error, files)) and not isinstance(error, SystemExit):
            raise
        raise PresetError(f"{place}: {_words(error)}") from error


def _place(error: BaseException, files: Collection[str]) -> str:
    """`own.py, line 7`: where in one of these files it was raised; "" where in none."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def brought(name: str) -> dict[str, tuple[str, ...]]:
    """The names that a loaded file or package adds, by registry."""
    return {registry: tuple(added) for registry, added in _dicts(_load(name)[1]).items()}


def _load(name: str, *, anew: bool = False) -> tuple[str, ModuleType]:
    file = Path(os.path.expanduser(name))
    if not file.is_file():
        return _loaded.get(name) or _joined(name, *_packaged(name))
    name, digest = str(file.resolve()), hashlib.blake2b(file.read_bytes(), digest_size=20).hexdigest()
    if name in _loaded and _loaded[name][0] == digest and not anew:
        return _loaded[name]
    return _joined(name, digest, _module(file, f"laboratory_{file.stem}_{digest[:8]}"))


def _packaged(name: str) -> tuple[str, ModuleType]:
    """Version and module of an installed package."""
    points = {point.name: point for point in metadata.entry_points(group=ENTRY_POINTS)}
    if name not in points:
        there = f"; installed are {', '.join(points)}" if points else ""
        raise PresetError(f"with: there is no file {name!r}, and no installed package brings it{there}")
    point = points[name]
    return f"{point.dist.name} {point.dist.version}" if point.dist else "", point.load()


def _module(file: Path, name: str) -> ModuleType:
    """The file as a module of that name, which dataclasses and records look up their types in."""
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise PresetError(f"with: {file} is no Python file")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a stranger's file raises is a word about that file
        del sys.modules[name]
        raise PresetError(f"with: {_place(error, [str(file)]) or file.name}: {_words(error)}") from error
    return module


def _joined(name: str, digest: str, module: ModuleType) -> tuple[str, ModuleType]:
    """Add what a module brings, in the place of what it brought before it was changed."""
    added = _dicts(module)
    if not any(added.values()):
        raise PresetError(f"with: {Path(name).name} brings nothing: wanted a dict called {', '.join(REGISTRIES)}")
    before = _dicts(_loaded[name][1]) if name in _loaded else {}
    for registry, entries in added.items():
        if not isinstance(entries, Mapping):
            raise PresetError(f"with: {Path(name).name}: {registry}: wanted a dict of classes by name, got {entries!r}")
        for entry, kind in entries.items():
            if missing := _missing(registry, entry, kind):
                raise PresetError(f"with: {Path(name).name}: {registry}: {entry!r}: wanted {missing}, got {kind!r}")
            if REGISTRIES[registry].get(entry, kind) is not before.get(registry, {}).get(entry, kind):
                raise PresetError(f"with: {Path(name).name}: {registry} has a {entry!r} already")
            REGISTRIES[registry][entry] = kind
    _loaded[name] = digest, module
    return _loaded[name]


def _missing(registry: str, entry: str, kind: Any) -> str:
    """What an entry has to be and is not; "" for one that fits."""
    base, verb = KINDS.get(registry, (object, ""))
    if not (isinstance(kind, type) and issubclass(kind, base)):
        return f"a class that inherits from {base.__name__}" if verb else "a class"
    if registry == "METHODS":
        return "" if is_dataclass(kind) else "a dataclass"
    if verb and kind.__struct_config__.tag != entry:  # type: ignore[attr-defined]
        return f'a class with tag="{entry}"'
    silent = verb and getattr(kind, verb, None) is getattr(base, verb, None)
    return f"a class that defines {verb}" if silent and not getattr(kind, "clicks", "") else ""


def _dicts(module: ModuleType) -> Mapping[str, Mapping[str, Any]]:
    return {registry: getattr(module, registry) for registry in REGISTRIES if hasattr(module, registry)}
