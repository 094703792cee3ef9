"""The laboratory over foltr: data sets, simulated users, studies; never imported by the device but for `--simulate`.

What a notebook or a file of your own uses of it:

    run, Results                   a study by its preset, and its rows as columns
    presets, load_fold, select     the presets by name; a fold of a data set; some of its queries
    StepMethod, AttackSettings, RuleSettings, PartitionSettings, ClickModel, Users       what your own is made from
    PresetError                    what a setting that does not fit raises

docs/simulation.md has an example of each. All else may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""how many threads one process computes with"""

_HOMES = {
    "AttackSettings": "simulation.attacks:AttackSettings",
    "ClickModel": "simulation.rounds.numbered_models:ClickModel",
    "PartitionSettings": "simulation.partitions:PartitionSettings",
    "PresetError": "simulation.errors:PresetError",
    "Results": "simulation.from_python:Results",
    "RuleSettings": "foltr.federated.aggregation.rows:RuleSettings",
    "StepMethod": "simulation.batched.step_method:StepMethod",
    "Users": "simulation.rounds.click_models:Users",
    "load_fold": "simulation.data.datasets:load_fold",
    "presets": "simulation.cells.preset_tables:preset_names",
    "run": "simulation.from_python:run",
    "select": "simulation.data.queries:select",
}
"""where each is; loaded when first asked for: the command line imports this before it says how many threads"""

__all__ = [*_HOMES]


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no {name!r}; it has {', '.join(__all__)}")
    module, _, there = _HOMES[name].partition(":")
    return getattr(import_module(module), there)
