"""Rows of results, and the folder that a run leaves behind.

    preset.toml                 what was run, every default written out
    environment.json            with what it was run: versions, processor, command line, times; one entry for each start
    rows.jsonl                  one row of results on a line, appended as soon as it is measured
    cells.jsonl                 one line for each finished cell, appended after its last row
    rows.csv                    the rows as a table with the swept settings as columns; written at the end
    summary.md, summary.json    the final table, the comparison with the paper, the tests of significance
    <metric>.png, <metric>.svg  learning curves of some metrics

One process writes, and holds cells.jsonl locked until it has ended. The two appended files are handed to the operating
system line by line, so that a run that is killed loses at most the line it was writing; all other files are replaced in
one step or not at all.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

import msgspec
import tomli_w

from console.durable import replace_durably
from simulation.errors import SimulationError

PRESET, ROWS, CELLS, TABLE = "preset.toml", "rows.jsonl", "cells.jsonl", "rows.csv"

Setting = str | int | float | bool

DISCOUNT = 0.9995
"""gamma of the cumulative online nDCG (thesis Eq. 2.1): what each round counts less than the one before it"""

WORST_ROUNDS = 500
"""over so many rounds, harm to those who search counts by itself, however good the last ranker is"""

CURVE_KEY = "alpha"
"""rows with this setting are points of a curve over it: they stand in no table, and in no learning curve"""

_Record = TypeVar("_Record", bound=msgspec.Struct)

replace_file = partial(replace_durably, mode=0o666)
"""puts a file in place in one step, readable by those whom the user lets read new files"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of a cell; a metric that was not measured is None.

    Offline values are of the held-out queries after that round, online values are means over the interactions since
    the row before. Where clients are forgotten, learning makes no rows: rounds, interactions and seconds are those of
    unlearning.
    """

    cell: str
    """stable id of the cell"""
    settings: dict[str, Setting]
    """the swept keys and their values"""
    fold: int
    seed: int
    round: int
    interactions: int
    """so far, of all clients together"""
    offline_ndcg: float | None = None
    offline_mrr: float | None = None
    offline_map: float | None = None
    offline_max_rr: float | None = None
    """expected MaxRR of the cell's users on the held-out rankings"""
    offline_err: float | None = None
    offline_ndcg_clients: float | None = None
    """of the common ranker on each client's own share of [data] evaluate_clients_on, the mean of those that count"""
    offline_ndcg_personal: float | None = None
    """the same of every client's own ranker, where clients keep something of it for themselves"""
    online_ndcg: float | None = None
    online_mrr: float | None = None
    online_max_rr: float | None = None
    cumulative_ndcg: float | None = None
    """sum over rounds t of (mean nDCG of the round) * DISCOUNT^(t - 1) (thesis Eq. 2.1)"""
    worst_ndcg: float | None = None
    """the lowest mean, over WORST_ROUNDS rounds with a page in a row so far, of online nDCG; None in fewer rounds"""
    guard_alert: float | None = None
    """share of the rounds since the row before in which the server's guard joined otherwise than in peace"""
    suspected_malicious: float | None = None
    """mean share of the malicious clients whom it suspected in one of those rounds"""
    suspected_honest: float | None = None
    """mean share of the honest clients whom it suspected"""
    chosen_alpha: float | None = None
    """merging: the weight of the second ranker in a linear combination, as a client chose it"""
    learned_queries: float | None = None
    """merging: how many queries the ranker, or its weight, was learned from"""
    learned_score_share: float | None = None
    """merging: the share of what the splits of stacked trees have gained that the two scores have"""
    epsilon: float | None = None
    """what was spent of privacy so far: of one device's whole contribution, against its absence"""
    auc: float | None = None
    """how often an attacker's guess for a result that was opened is above that for one that was not, ties as half"""
    auc_proven: float | None = None
    """the AUC that no attacker exceeds, by the noise and the caps alone"""
    guessed: float | None = None
    """how often what was opened wins against another result of its page, ties as half"""
    mu: float | None = None
    """how far apart two answers of a device were at most, in deviations of the noise"""
    unlearning_distance: float | None = None
    """where clients are forgotten: Euclidean distance from the ranker that was learned with them"""
    unlearning_ndcg: float | None = None
    """of the forgotten clients' own queries by their own labels, where clients hold different ones"""
    unlearning_stretch: float | None = None
    """how many times longer FedEraser made the updates of the last of these rounds"""
    seconds: float = 0.0
    """spent in the rounds so far, evaluation not counted"""
    fixed: bool = False
    """whether nothing was drawn for it: another seed would have made the same row"""
    query_ndcg: tuple[float, ...] | None = None
    """offline nDCG of each held-out query that counts, in the order of the data, to six digits: in a cell's last row
    alone, and only where each query is held out in one fold of the study"""


METRICS = tuple(field.name for field in msgspec.structs.fields(Row) if field.type == float | None)
"""the columns of a row that are metrics: those that may be missing"""


class FinishedCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell with nothing left to do."""

    cell: str
    seconds: float = 0.0
    """from its first round to its last row"""


class Stored(msgspec.Struct, frozen=True):
    """What a folder holds of a run so far."""

    rows: tuple[Row, ...]
    """in the order in which they were written, unfinished cells included"""
    finished: frozenset[str]

    @property
    def complete(self) -> tuple[Row, ...]:
        """The rows of finished cells."""
        return tuple(row for row in self.rows if row.cell in self.finished)

    def by_cell(self) -> dict[str, list[Row]]:
        """The rows of each finished cell."""
        found: dict[str, list[Row]] = {}
        for row in self.complete:
            found.setdefault(row.cell, []).append(row)
        return found


class RowWriter:
    """Appends to a folder's rows.jsonl and cells.jsonl; a context manager.

    A line that an earlier run left half-written is cut off first: no new line may be glued to it.
    """

    def __init__(self, folder: Path) -> None:
        self._rows = _append(folder / ROWS)
        self._cells = _append(folder / CELLS)

    def write(self, row: Row) -> None:
        """Append a row; it outlives this process from here on."""
        _write_line(self._rows, row)

    def finish(self, cell: str, *, seconds: float = 0.0) -> None:
        """Mark a cell as finished, after its last row; from here on it outlives a loss of power as well."""
        os.fsync(self._rows.fileno())
        _write_line(self._cells, FinishedCell(cell=cell, seconds=seconds))
        os.fsync(self._cells.fileno())

    def close(self) -> None:
        self._rows.close()
        self._cells.close()

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def hold(folder: Path) -> BinaryIO:
    """A file that keeps other processes from writing the run while it is open; SimulationError where one does."""
    held = (folder / CELLS).open("ab")
    try:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.close()
        raise SimulationError(f"{folder}: another process runs there now; wait for its end, or stop it") from error
    except (ImportError, OSError):  # Windows, or a disk without locks: nobody is kept away
        pass
    return held


def begin_run(folder: Path, preset: Mapping[str, Any]) -> BinaryIO:
    """Make the folder of a new run, write down its resolved preset, and `hold` it; SimulationError as `check_new`."""
    check_new(folder)
    folder.mkdir(parents=True, exist_ok=True)
    held = hold(folder)
    if (folder / PRESET).exists():  # another process has begun and ended meanwhile
        check_new(folder)
    replace_file(folder / PRESET, tomli_w.dumps(preset).encode())
    (folder / ROWS).touch()
    return held


def check_new(folder: Path) -> None:
    """SimulationError when something is in the folder of a new run already; nothing is touched."""
    if folder.exists() and not folder.is_dir():
        raise SimulationError(f"{folder}: wanted a folder for the results, this is a file")
    if folder.exists() and any(folder.iterdir()):
        holds = "holds a run already" if (folder / ROWS).exists() else "is not empty"
        raise SimulationError(f"{folder} {holds}: use --resume to continue a run, another --out for a new one")


def resume_run(folder: Path) -> Stored:
    """What a run has finished, and its folder ready to go on: rows of unfinished cells are taken out.

    The caller holds it. SimulationError when a line in the middle of a file cannot be read.
    """
    stored = read_run(folder)
    if len(stored.complete) < len(stored.rows):
        replace_file(folder / ROWS, b"".join(map(_line, stored.complete)))
    return Stored(stored.complete, stored.finished)


def read_run(folder: Path) -> Stored:
    """The rows and finished cells of a folder; it is not changed.

    A last line without its end, as a killed run leaves it, is passed over, and so is a finished cell whose rows are
    lost. SimulationError names any other line that cannot be read.
    """
    rows = tuple(_read(folder / ROWS, Row))
    finished = {cell.cell for cell in _read(folder / CELLS, FinishedCell)}
    return Stored(rows, frozenset(finished.intersection(row.cell for row in rows)))


def write_csv(folder: Path, rows: Sequence[Row]) -> Path:
    """Write rows.csv: the columns of `Row` with `settings` taken apart, without values of single queries; what was not
    measured is empty.
    """
    swept = list(dict.fromkeys(key for row in rows for key in row.settings))
    plain = [name for name in Row.__struct_fields__ if name not in ("cell", "settings", "query_ndcg")]
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(["cell", *swept, *plain])
    for row in rows:
        values = msgspec.structs.asdict(row)
        table.writerow([row.cell, *(row.settings.get(key) for key in swept), *(values[name] for name in plain)])
    replace_file(folder / TABLE, text.getvalue().encode())
    return folder / TABLE


def _append(path: Path) -> BinaryIO:
    """The file, opened for appending after its last whole line."""
    file = path.open("ab+")
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
    return file


def _write_line(file: BinaryIO, record: msgspec.Struct) -> None:
    file.write(_line(record))
    file.flush()


def _line(record: msgspec.Struct) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _read(path: Path, kind: type[_Record]) -> list[_Record]:
    """The records of a file of JSON lines, but for a last line that was cut off."""
    *lines, _ = path.read_bytes().split(b"\n") if path.exists() else [b""]
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(msgspec.json.decode(line, type=kind))
        except msgspec.DecodeError as error:
            raise SimulationError(f"{path}, line {number}: wanted a {kind.__name__}, got {error}") from error
    return records
