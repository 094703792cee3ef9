"""Your own methods at compiled speed: kernels draw a page, its clicks and its weights; then your step follows.

    def step(theta, shown, clicks, wanted, numbers): ...     moves `theta` [n_features] by what one page says

        shown    [k, n_features] the features of the results shown, best first
        clicks   [k] which of them were opened
        wanted   [k] by how much PDGD would have each result's score rise (foltr.online.pdgd); 0 where it has no pair
        numbers  the learning rate, then the fields of the class itself that are numbers, in their order

`step` is a plain Python function of numbers, loops and numpy that numba can compile. It is the only definition: the
four verbs call it as the rounds do. What the server does, privacy, attacks and unlearning are those of FPDGD.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import cfunc, config, njit, types
from numba.core.errors import NumbaError

from foltr.arrays import BoolVector, FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.fpdgd import FPDGD, FPDGDLocal
from foltr.online import pdgd
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear
from simulation.batched import kernel
from simulation.batched.pages import Pages
from simulation.batched.pdgd_linear import copy_to

Step = Callable[[FloatVector, FloatMatrix, BoolVector, FloatVector, FloatVector], None]

_VECTOR = types.float64[::1]
SIGNATURE = types.void(_VECTOR, types.float64[:, ::1], types.boolean[::1], _VECTOR, _VECTOR)

_compiled: dict[Any, tuple[Step, Any]] = {}
"""by a step's code and its file's name, which stay the same however often the file is loaded"""


def compiled(step: Step) -> tuple[Step, Any]:
    """The step for Python and for other kernels; ValueRangeError says what numba cannot compile."""
    alone = step.__closure__ or config.DISABLE_JIT  # type: ignore[attr-defined]
    known = step if alone else (step.__module__, step.__code__)
    if known not in _compiled:
        _compiled[known] = _compile(step)
    return _compiled[known]


def _compile(step: Step) -> tuple[Step, Any]:
    """Code that is called by its address loses an error: the one for kernels notes it, as no learning rate."""
    try:
        checked: Any = njit(SIGNATURE, error_model="numpy", boundscheck=True)(step)
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return checked, checked

        def noted(theta, shown, clicks, wanted, numbers):  # type: ignore[no-untyped-def]
            try:
                checked(theta, shown, clicks, wanted, numbers)
            except Exception:
                numbers[0] = np.nan

        return checked, cfunc(SIGNATURE)(noted)
    except (NumbaError, TypeError) as error:  # the latter for another number of arguments
        reason = " ".join(str(error).split())
        place = f"{Path(step.__code__.co_filename).name}, line {step.__code__.co_firstlineno}"
        raise ValueRangeError(f"{place}: {step.__name__} cannot be compiled: {reason}") from error


@dataclass(frozen=True, slots=True)
class StepMethod(FPDGD):
    """FPDGD with another step, of a linear ranker that is learned whole, page after page."""

    step: ClassVar[Step]
    """a staticmethod, as the head of this file describes it"""

    @property
    def numbers(self) -> tuple[float, ...]:
        """What the step is given of the settings."""
        known = {field.name for field in fields(FPDGD)}
        own = [getattr(self, field.name) for field in fields(self) if field.name not in known]
        return (self.learning_rate, *(float(number) for number in own if isinstance(number, int | float)))

    def __post_init__(self) -> None:
        FPDGD.__post_init__(self)
        if not isinstance(inspect.getattr_static(self, "step", None), staticmethod):
            raise ValueRangeError(f"{type(self).__name__}: wanted a staticmethod called step")
        capped = self.longest_step is not None or self.longest_query is not None
        if not isinstance(self.ranker, Linear) or self.shared or self.proximal or capped or self.update != "each":
            raise ValueRangeError(f"{type(self).__name__}: a step of one's own is for a linear ranker, learned whole")

    def learn(self, local: FPDGDLocal, interaction: Interaction, query: bytes = b"") -> FPDGDLocal:
        """The step, within the bound of the privacy mechanism."""
        theta, ranking = local.theta.copy(), interaction.ranking
        scores = self.ranker.score(theta, interaction.features)
        pairs = pdgd.preference_pairs(scores, interaction, temperature=self.temperature)
        wanted = pdgd.document_weights(pairs, interaction.n_docs)[ranking]
        step = compiled(type(self).step)[0]
        step(theta, interaction.features[ranking], interaction.clicks.copy(), wanted, np.array(self.numbers))
        return FPDGDLocal(local.start, self._bounded(theta), local.n_interactions + 1)


class StepRoom(NamedTuple):
    """Room for a page, as a step sees it."""

    shown: FloatMatrix
    """[k, n_features]"""
    wanted: FloatVector
    """[k]"""
    numbers: FloatVector
    given: FloatVector
    """the numbers again, whatever a step writes into them"""


def step_of(method: StepMethod, pages: Pages) -> tuple[Any, StepRoom]:
    """The compiled step of the method, and room for it; ValueRangeError where it reaches beyond what it is given."""
    k, n_features = len(pages.discounts), pages.features.shape[1]
    numbers = np.array(method.numbers, dtype=np.float64)
    room = StepRoom(np.zeros((k, n_features)), np.zeros(k), numbers, numbers.copy())
    checked, step = compiled(type(method).step)
    try:
        checked(np.zeros(n_features), room.shown, np.zeros(k, dtype=np.bool_), room.wanted, room.numbers)
    except IndexError as error:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]  # Python's own error knows the line
            raise
        name = type(method).__name__
        raise ValueRangeError(f"{name}.step: {error}; NUMBA_DISABLE_JIT=1 says at which line") from error
    return step, room


@kernel(inlined=True)
def take_step(theta, step, own, pages, sheet, first, k, seen, scale):  # type: ignore[no-untyped-def]
    """Move theta by a page of k results, of which `seen` have a weight in `sheet.wanted`; False where that fails."""
    for r in range(k):
        own.wanted[r] = scale * sheet.wanted[r] if r < seen else 0.0
        copy_to(own.shown[r], pages.features[first + sheet.ranking[r]])
    copy_to(own.numbers, own.given)
    step(theta, own.shown[:k], sheet.clicks[:k], own.wanted[:k], own.numbers)
    return not np.isnan(own.numbers[0])
