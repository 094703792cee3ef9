"""How clients are forgotten, all ways by name: {"unlearning": NAME, ...}, NAME being a key of UNLEARNING."""

from __future__ import annotations

from simulation.unlearning.ascent import GradientAscent
from simulation.unlearning.federaser import FedEraser, FedRemove, Reaggregation
from simulation.unlearning.past import UnlearningSettings
from simulation.unlearning.retraining import FineTuning, GoingOn, Retraining, Rollback

UNLEARNING: dict[str, type[UnlearningSettings]] = {
    "none": GoingOn,
    "retrain": Retraining,
    "rollback": Rollback,
    "fine-tuning": FineTuning,
    "federaser": FedEraser,
    "reaggregate": Reaggregation,
    "fedremove": FedRemove,
    "pga": GradientAscent,
}
