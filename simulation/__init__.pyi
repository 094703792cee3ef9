"""What `simulation/__init__.py` loads once it is asked for, as type checkers and editors see it."""

from foltr.federated.aggregation.rows import RuleSettings as RuleSettings
from simulation.attacks import AttackSettings as AttackSettings
from simulation.batched.step_method import StepMethod as StepMethod
from simulation.cells.preset_tables import preset_names as presets
from simulation.data.datasets import load_fold as load_fold
from simulation.data.queries import select as select
from simulation.errors import PresetError as PresetError
from simulation.from_python import Results as Results
from simulation.from_python import run as run
from simulation.partitions import PartitionSettings as PartitionSettings
from simulation.rounds.click_models import Users as Users
from simulation.rounds.numbered_models import ClickModel as ClickModel

__all__ = [
    "AttackSettings",
    "ClickModel",
    "PartitionSettings",
    "PresetError",
    "Results",
    "RuleSettings",
    "StepMethod",
    "Users",
    "load_fold",
    "presets",
    "run",
    "select",
]

THREAD_VARIABLES: tuple[str, ...]
