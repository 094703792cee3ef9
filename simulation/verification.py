"""Rows that anybody can check: those that come with the program, and the cells of a run, made again and compared.

A cell is known by its address: its preset, the digests of its data, the number of what computes (NUMBERS), its own
settings, fold and seed. What is shipped of a study are the lines of simulation/shipped/PAPER/TABLE.jsonl: first what
its cells have in common, then one line a cell, with a digest of all its rows and the rows that tables are made of.
Values of single queries and seconds are not shipped; a digest leaves only seconds out, which differ every time.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from foltr.errors import FoltrError
from simulation.cells.cell import Cell, expand
from simulation.cells.parts import fold_of
from simulation.cells.preset_tables import named_preset
from simulation.cells.trial import cell_events
from simulation.data.datasets import fold_digests
from simulation.data.known_datasets import folds_present
from simulation.engines import CellFailed, InProcess, Reported
from simulation.environment import NUMBERS, build, difference, read_environments
from simulation.errors import SimulationError
from simulation.experiment import check_same, stored_preset
from simulation.run_folder import CURVE_KEY, Row, read_run, replace_file

SHIPPED = Path(__file__).parent / "shipped"
REPRODUCTION = "reproduction"
"""where --verify is to look, if not in the folder of a run"""
NOT_SHIPPED = ("cell", "query_ndcg", "seconds")

EQUAL, UNEQUAL, NOTHING = 0, 1, 2
"""exit codes: all that ran are equal; some are not; nothing could be run"""


class ShippedStudy(msgspec.Struct, frozen=True, kw_only=True):
    """What the cells of a file have in common."""

    preset: str
    data: dict[str, str]
    """digests by file"""
    numbers: int
    version: str
    """of foltr-search"""
    build: dict[str, str]


class ShippedCell(msgspec.Struct, frozen=True, kw_only=True):
    cell: str
    digest: str
    """of all its rows, as `rows_digest` has it"""
    rows: list[dict[str, Any]]
    """those that tables need; what a row does not have is left out"""

    def whole(self) -> list[Row]:
        """The rows as records."""
        return [msgspec.convert({**row, "cell": self.cell}, Row) for row in self.rows]


def rows_digest(rows: Sequence[Row]) -> str:
    """BLAKE2b with 20 bytes of all that rows say except their seconds; empty fields are left out."""
    digest = hashlib.blake2b(digest_size=20)
    for row in _from_file(rows):
        digest.update(msgspec.json.encode(_without_empty(row, ("seconds",)), order="sorted"))
    return digest.hexdigest()


def _from_file(rows: Sequence[Row]) -> list[Row]:
    """The rows as a file has them, where 3 queries are 3.0 and what is no number is empty."""
    return msgspec.json.decode(msgspec.json.encode(rows), type=list[Row])


class CellClaim(msgspec.Struct, frozen=True):
    """That a cell gives these rows."""

    study: str
    """the name of a preset, or "" for a run's folder"""
    cell: Cell
    data: Mapping[str, str]
    digest: str
    rows: Sequence[Row]
    """some of them, to name what differs"""

    def missing(self, root: Path | None) -> str:
        """Why it cannot be checked here; "" where the very data are."""
        try:
            here = fold_digests(self.cell.preset.data.dataset, fold_of(self.cell, root), root)
        except FoltrError as error:
            return str(error)
        other = difference({name: self.data.get(name, "unknown") for name in here}, here)
        return f"other data: {other}" if other else ""

    def contradicted(self, root: Path | None) -> str:
        """What comes out differently when the cell is run again; "" where every byte is the same."""
        events = list(InProcess().run([self.cell], partial(cell_events, root=root)))
        failed = [event.message for event in events if isinstance(event, CellFailed)]
        rows = [event.row for event in events if isinstance(event, Reported)]
        now = {_place(row): row for row in _from_file(rows)}
        changed = (_otherwise(row, now.get(_place(row))) for row in self.rows)
        missed = "" if rows_digest(rows) == self.digest else "a row that is not kept differs"
        return next(filter(None, (*failed, *changed)), missed)


def _place(row: Row) -> tuple[int, bytes]:
    return row.round, msgspec.json.encode(row.settings, order="sorted")


def _otherwise(row: Row, now: Row | None) -> str:
    """The first field in which the present row of that round has another value."""
    if now is None:
        return f"no row after round {row.round}"
    changed = [name for name in Row.__struct_fields__ if getattr(now, name) != getattr(row, name)]
    for name in changed:
        if name not in NOT_SHIPPED:
            return f"{name} after round {row.round} was {getattr(row, name)!r}, now {getattr(now, name)!r}"
    return ""


def verify(where: str, *, root: Path | None, sample: int | None, say: Callable[[str], None]) -> int:
    """Run cells again, `sample` of them drawn by lot or all, and say of each whether its rows are equal; the exit code.

    `where` is `reproduction`, for what comes with the program, or the folder of a run. Cells whose data are not here,
    byte by byte, are counted and left out.
    """
    made = list(shipped_claims() if where == REPRODUCTION else run_claims(Path(where)))
    reasons = {key: claim.missing(root) for key, claim in {_data_of(claim): claim for claim in made}.items()}
    here = [claim for claim in made if not reasons[_data_of(claim)]]
    if elsewhere := len(made) - len(here):
        say(f"{elsewhere} of {len(made)} cells cannot be run here: {next(filter(None, reasons.values()))}")
    chosen = here if sample is None else random.sample(here, min(sample, len(here)))
    equal = 0
    for claim in chosen:
        contradiction = claim.contradicted(root)
        equal += not contradiction
        name = " ".join(filter(None, (claim.study, claim.cell.title)))
        say(f"NOT EQUAL  {name}: {contradiction}" if contradiction else f"equal      {name}")
    say(f"{equal} of {len(chosen)} cells equal to the last digit")
    return NOTHING if not chosen else EQUAL if equal == len(chosen) else UNEQUAL


def _data_of(claim: CellClaim) -> tuple[str, str, int]:
    return claim.study, msgspec.json.encode(claim.cell.preset.data).decode(), claim.cell.fold


def run_claims(folder: Path) -> Iterator[CellClaim]:
    """The finished cells of a run; SimulationError where it holds none."""
    preset, stored = stored_preset(folder), read_run(folder)
    data = {name: digest for entry in read_environments(folder) for name, digest in entry.data.items()}
    rows = stored.by_cell()
    for cell in expand(preset, folds_of=lambda _: sorted({row.fold for row in stored.complete})):
        if cell.id in rows:
            yield CellClaim("", cell, data, rows_digest(rows[cell.id]), rows[cell.id])


def shipped_claims() -> Iterator[CellClaim]:
    """Everything that comes with the program; SimulationError for a cell that its preset does not have any more."""
    for path in shipped_files():
        study, shipped = read_shipped(path)
        folds = sorted({row["fold"] for one in shipped for row in one.rows})
        preset = named_preset(study.preset)
        cells = {cell.id: cell for cell in expand(preset, folds_of=lambda _, found=folds: found)}  # type: ignore[misc]
        for one in shipped:
            if one.cell not in cells:
                raise SimulationError(f"{path.name}: preset {study.preset} has no cell {one.cell} any more")
            yield CellClaim(study.preset, cells[one.cell], study.data, one.digest, one.whole())


def shipped_files() -> list[Path]:
    """The files of rows that come with the program."""
    return sorted(SHIPPED.glob("*/*.jsonl"))


def read_shipped(path: Path) -> tuple[ShippedStudy, list[ShippedCell]]:
    """A file of shipped rows; SimulationError for one that cannot be read."""
    try:
        first, *others = path.read_bytes().splitlines()
        decode = partial(msgspec.json.decode, type=ShippedCell)
        return msgspec.json.decode(first, type=ShippedStudy), list(map(decode, others))
    except (ValueError, msgspec.DecodeError) as error:
        raise SimulationError(f"{path}: wanted shipped rows, got {error}") from error


def ship(name: str, folder: Path, root: Path | None) -> Path:
    """Put the finished cells of a run of that preset among what comes with the program; the file.

    SimulationError for a run of another preset, build or data than there are here, or one that is not over.
    """
    preset, stored, entries = named_preset(name), read_run(folder), read_environments(folder)
    check_same(folder, preset)
    cells = expand(preset, folds_of=partial(folds_present, root=root))
    if unfinished := [cell.title for cell in cells if cell.id not in stored.finished]:
        raise SimulationError(f"{folder}: {len(unfinished)} cells are not finished, {unfinished[0]} first")
    if other := next(filter(None, (difference(entry.build, build()) for entry in entries)), ""):
        raise SimulationError(f"{folder} was made by another build: {other}")
    rounds = {value.at for value in preset.expect.values}
    rows = stored.by_cell()
    lines = [
        ShippedStudy(
            preset=name,
            data={name: digest for entry in entries for name, digest in entry.data.items()},
            numbers=NUMBERS,
            version=metadata.version("foltr-search"),
            build=build(),
        ),
        *(_shipped(cell.id, rows[cell.id], rounds) for cell in cells),
    ]
    path = SHIPPED / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def _shipped(cell: str, rows: Sequence[Row], rounds: set[Any]) -> ShippedCell:
    """The last row of each combination of settings, and those of the rounds that a paper speaks of; no curves."""
    tabled = [row for row in rows if CURVE_KEY not in row.settings]
    last = {msgspec.json.encode(row.settings): row for row in tabled}
    kept = [row for row in tabled if row.round in rounds or row is last[msgspec.json.encode(row.settings)]]
    return ShippedCell(cell=cell, digest=rows_digest(rows), rows=[_without_empty(row, NOT_SHIPPED) for row in kept])


def _without_empty(row: Row, left_out: Sequence[str]) -> dict[str, Any]:
    found = msgspec.structs.asdict(row)
    return {name: value for name, value in found.items() if value is not None and name not in left_out}
