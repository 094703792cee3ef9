"""Who is forgotten in a cell, and how: what [federation] says of it."""

from __future__ import annotations

from simulation.cell import Cell
from simulation.decoding import decode_tagged
from simulation.errors import PresetError
from simulation.participants import ATTACKED
from simulation.unlearning.registry import UNLEARNING
from simulation.unlearning.settings import UnlearningSettings


def unlearning_of(cell: Cell) -> UnlearningSettings | None:
    """How clients are forgotten; PresetError where nobody is there to be forgotten, or nobody would be left."""
    federation, settings = cell.preset.federation, cell.method.settings
    if not federation.unlearning:
        if federation.forgotten or federation.forgotten_from > 1:
            raise PresetError(f"federation.unlearning: how are they forgotten? there are {', '.join(UNLEARNING)}")
        return None
    if cell.method.name not in ATTACKED or settings.get("shared") or settings.get("personal"):
        raise PresetError(f"federation.unlearning: it is of whole weights that {', '.join(ATTACKED)} sends")
    if not 0 < n_leavers(cell) < federation.clients:
        raise PresetError(f"federation.forgotten: wanted 1 to {federation.clients - 1} clients, got {n_leavers(cell)}")
    if federation.forgotten_from > federation.rounds:
        raise PresetError(
            f"federation.forgotten_from: wanted a round up to {federation.rounds}, got {federation.forgotten_from}"
        )
    return decode_tagged(federation.unlearning, UNLEARNING, tag="unlearning", at="federation.unlearning")


def n_leavers(cell: Cell) -> int:
    """How many are forgotten, the last clients."""
    return cell.preset.federation.forgotten or cell.preset.federation.malicious


def rounds_together(cell: Cell) -> range:
    """The rounds that they take part in, counted from 1."""
    return range(cell.preset.federation.forgotten_from, cell.preset.federation.rounds + 1)


def length(cell: Cell) -> tuple[int, int]:
    """How many rounds are played before rows begin to be numbered, and how many in all."""
    learned, way = cell.preset.federation.rounds, unlearning_of(cell)
    return (learned, learned + way.rounds(rounds_together(cell))) if way else (0, learned)
