"""The leaderboard: every method and rule against every trial, with the row of a submission beside them.

    foltr-search --simulate --submit my_method.py

An entry is a method, or FPDGD with a rule of the server or its guard; a trial is a way to make learning harder. Each
pair is three cells (seeds) of fold 1, all small and all alike, so that the board compares and says little of levels. A
pair that is impossible (an attack on weights where none are sent) stays empty. Rows that were made on the same bytes
are shipped in `leaderboard.csv`, and are not run again; `python -m simulation.leaderboard DATASET` makes them anew.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from foltr.errors import FoltrError
from foltr.federated.aggregation.registry import RULES
from foltr.federated.registry import METHODS
from simulation.cells.cell import Cell, assign, expand
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import absolute
from simulation.data.datasets import fold_digests, load_fold
from simulation.data.known_datasets import data_folder
from simulation.engines import CellFailed, Reported, make_engine
from simulation.environment import cores
from simulation.errors import PresetError
from simulation.experiment import check_clients, check_method, work_with
from simulation.extensions import brought, load, placed
from simulation.progress_bars import RunProgress
from simulation.report.terminal import Grid, show
from simulation.run_folder import replace_file

BOARD, SHIPPED = Path(__file__).with_name("leaderboard.csv"), "sample"
SEEDS = (1, 2, 3)
CLIENTS, MALICIOUS = 15, 3
"""a fifth, which is what rules are meant to withstand; each of three or five grades has as many clients"""
BASE: dict[str, Any] = {
    "data": {"folds": [1]},
    "federation": {"clients": CLIENTS, "local": 5, "rounds": 50, "evaluate_every": 50},
    "method": {"name": "fpdgd"},
    "seeds": list(SEEDS),
}

Changes = Mapping[str, Any]
"""dotted keys and values"""
ATTACKS_HERE = ("poisoned-clicks", "opposed", "lie", "fang-krum", "fang-trimmed", "noisy-reversal", "flip", "ipm")
NOISE = {"mechanism": "gaussian", "clip": 0.5}


def attacked(name: str) -> Changes:
    """By a fifth of the clients."""
    return {"federation.attack": {"attack": name}, "federation.malicious": MALICIOUS}


def forgotten(**way: Any) -> Changes:
    """Those who had sent the opposite of what they learned."""
    return {**attacked("opposed"), "federation.unlearning": way}


TRIALS: dict[str, dict[str, Changes]] = {
    "clicks": {"perfect": {}, "informational": {"users.clicks": "informational"}},
    "partitions": {f"by {kind}": {"federation.partition": {"kind": kind}} for kind in ("queries", "grades")},
    "attacks": {name: attacked(name) for name in ATTACKS_HERE},
    "forgetting": {
        "federaser": forgotten(unlearning="federaser", every=10, local=3),
        "fine-tuning": forgotten(unlearning="fine-tuning", more=20),
        "rollback": forgotten(unlearning="rollback"),
    },
    "privacy": {f"noise {z:g}": {"method.privacy": {**NOISE, "noise_multiplier": z}} for z in (0.3, 1.0)},
}
"""by group"""

RULE_SETTINGS = {"n_malicious": MALICIOUS, "radius": 0.1, "then": {"rule": "median"}}
"""of the rules that want them"""

METHOD_SETTINGS: dict[str, Changes] = {"coltr": {"method.n_candidates": 49}}
"""where a method's own defaults take longer than all others together"""


class Score(NamedTuple):
    """Offline nDCG@10 at the end: mean and standard error over seeds."""

    mean: float
    se: float


Board = dict[str, dict[str, Score]]
"""by entry and trial; impossible pairs are missing"""


def with_rule(name: str) -> Changes:
    """FPDGD whose server joins by that rule."""
    wanted = {field.encode_name for field in msgspec.structs.fields(RULES[name])} & RULE_SETTINGS.keys()
    return {"federation.aggregation": {"rule": name, **{key: RULE_SETTINGS[key] for key in sorted(wanted)}}}


def entries(methods: Sequence[str], rules: Sequence[str]) -> dict[str, Changes]:
    """By the name that stands in the board."""
    named: dict[str, Changes] = {name: {"method.name": name, **METHOD_SETTINGS.get(name, {})} for name in methods}
    return named | {f"fpdgd, {name}": with_rule(name) for name in rules}


def ours() -> dict[str, Changes]:
    """Every entry that comes with the program."""
    rules = [name for name in RULES if name != "mean"]
    return {**entries([*METHODS], rules), "fpdgd, guard": {"federation.guard": True}}


def submit(name: str, dataset: str | None, *, root: Path | None, jobs: int | None) -> int:
    """Run what a file or package brings against everything here, and print its rows beside all others.

    A method or rule is a row, an attack or partition a trial of its own that every entry has to meet. Without a data
    set it is the one whose rows are shipped. The exit code is 1 where a cell failed; FoltrError where it brings none of
    these, or what can run nowhere.
    """
    digest, known = load([name])[Path(name).name], ours()
    new = brought(name)
    rows = entries(new.get("METHODS", ()), new.get("RULES", ()))
    attacks = {attack: attacked(attack) for attack in new.get("ATTACKS", ())}
    shares: dict[str, Changes] = {
        f"by {kind}": {"federation.partition": {"kind": kind}} for kind in new.get("PARTITIONS", ())
    }
    if not (tried := rows | attacks | shares):
        raise PresetError(f"--submit: {Path(name).name} brings no method, rule, attack or partition")
    if taken := attacks.keys() & {trial for group in TRIALS.values() for trial in group}:
        raise PresetError(
            f"--submit: {Path(name).name}: the board has a trial {min(taken)!r}: name the attack otherwise"
        )
    where = dataset or SHIPPED
    for entry, changes in tried.items():
        cells_of(where, (entry, ""), changes, root, [name])  # what can run nowhere is refused with its reason
    trials = TRIALS | {"attacks": TRIALS["attacks"] | attacks, "partitions": TRIALS["partitions"] | shares}
    board, failed = run(where, known | rows, trials, shipped(where, root), root=root, jobs=jobs, with_=[name])
    show([grid(board, trials, where, new=[*rows])], sys.stdout)
    for entry in filter(board.get, rows):
        show([by_trial(board, trials, entry)], sys.stdout)
    for trial in attacks | shares:
        show([by_entry(board, trial)], sys.stdout)
    what = f"nDCG@10 of the last ranker, mean ± standard error over {len(SEEDS)} seeds of fold 1 of {where}"
    print(f"{Path(name).name} {digest[:12]}: {what}")
    return int(failed)


def run(
    dataset: str, rows: Mapping[str, Changes], trials: Mapping[str, Mapping[str, Changes]], board: Board, *,
    root: Path | None, jobs: int | None, with_: Sequence[str] = (),
) -> tuple[Board, bool]:  # fmt: skip
    """The board with every pair that it lacked, and whether a cell failed; impossible pairs are left out."""
    pairs = {
        (entry, trial): {**ahead, **changes}
        for group in trials.values()
        for trial, changes in group.items()
        for entry, ahead in rows.items()
        if trial not in board.get(entry, {})
    }
    cells = dict[tuple[str, str], list[Cell]]()
    for pair, changes in pairs.items():
        with suppress(FoltrError):
            cells[pair] = cells_of(dataset, pair, changes, root, with_)
    values = values_of([cell for some in cells.values() for cell in some], root, jobs)
    found: Board = {entry: dict(board.get(entry, {})) for entry in rows}
    for (entry, trial), some in cells.items():
        own = [values[cell.id] for cell in some if cell.id in values]
        if own and len(own) == len(some):
            found[entry][trial] = Score(float(np.mean(own)), float(np.std(own, ddof=1) / np.sqrt(len(own))))
    return found, len(values) < sum(map(len, cells.values()))


@placed()
def cells_of(
    dataset: str, pair: tuple[str, str], changes: Changes, root: Path | None, with_: Sequence[str]
) -> list[Cell]:
    """The seeds of an entry in a trial; FoltrError where that is impossible."""
    data = {**BASE["data"], "dataset": dataset}
    tables = assign({**BASE, "data": data, "with": absolute(with_, Path())}, dict(changes))
    cells = expand(decode_preset(tables, source="leaderboard"), folds_of=lambda dataset: (1,))
    check_method(cells[0])
    check_clients(cells[0], load_fold(dataset, 1, root=root))
    return [msgspec.structs.replace(cell, id=" ".join([*pair, f"seed {cell.seed}"])) for cell in cells]


def values_of(cells: Sequence[Cell], root: Path | None, jobs: int | None) -> dict[str, float]:
    """Offline nDCG at the end, by cell; failures are reported."""
    jobs, values = jobs or cores(), dict[str, float]()
    events, titles = make_engine("local", jobs).run(cells, work_with(root)), {cell.id: cell.id for cell in cells}
    with closing(events), RunProgress(titles, sys.stderr, jobs=jobs) as progress:
        for event in events:
            if isinstance(event, Reported) and event.row.offline_ndcg is not None:
                values[event.cell] = event.row.offline_ndcg
            elif isinstance(event, CellFailed):
                values.pop(event.cell, None)
                progress.end(event.cell, f"failed: {event.message}")
            else:
                progress.tell(event)
    return values


def grid(board: Board, trials: Mapping[str, Mapping[str, Changes]], dataset: str, *, new: Sequence[str]) -> Grid:
    """A row for each entry, the best on average first; a column for each group of trials."""
    columns = [*trials, "worst attack"]

    def means(entry: str) -> list[float | None]:
        met = board[entry]
        own = [[met[trial].mean for trial in group] if group.keys() <= met.keys() else [] for group in trials.values()]
        worst = min(own[[*trials].index("attacks")], default=None)
        return [*(float(np.mean(some)) if some else None for some in own), worst]

    by_entry = {entry: means(entry) for entry in board if board[entry]}
    order = sorted(by_entry, key=lambda e: (-len([v for v in by_entry[e] if v]), -sum(filter(None, by_entry[e]))))
    numbers = {entry: ["-" if value is None else f"{value:.4f}" for value in by_entry[entry]] for entry in order}
    return Grid(
        f"Leaderboard on {dataset}: mean nDCG@10 of each group of trials",
        ["", *columns],
        [[f"{'> ' if entry in new else ''}{entry}", *numbers[entry]] for entry in order],
        ["entries that meet all groups first, by their sum", "-: cannot meet every trial of the group, or failed"],
    )


def by_trial(board: Board, trials: Mapping[str, Mapping[str, Changes]], entry: str) -> Grid:
    """An entry trial by trial, beside FPDGD and the best of all others."""
    rows = []
    for trial in (trial for group in trials.values() for trial in group if trial in board[entry]):
        own, others = board[entry][trial], {e: s[trial].mean for e, s in board.items() if trial in s and e != entry}
        best = max(others, key=lambda other: others[other])
        place = 1 + sum(value > own.mean for value in others.values())
        plain = f"{board['fpdgd'][trial].mean:.4f}" if trial in board.get("fpdgd", {}) else "-"
        standing = f"{place} of {len(others) + 1}"
        rows.append([trial, _shown(board[entry], trial), standing, plain, f"{others[best]:.4f}", best])
    return Grid(f"{entry}, trial by trial", ["", "nDCG@10", "place", "fpdgd", "best other", "which"], rows)


def by_entry(board: Board, trial: str) -> Grid:
    """A trial entry by entry, the best first, beside what they come to unharmed."""
    met = sorted((entry for entry in board if trial in board[entry]), key=lambda entry: -board[entry][trial].mean)
    rows = [[entry, *(_shown(board[entry], column) for column in (trial, "perfect"))] for entry in met]
    return Grid(f"{trial}, entry by entry: nDCG@10", ["", trial, "perfect"], rows)


def _shown(scores: Mapping[str, Score], trial: str) -> str:
    return f"{scores[trial].mean:.4f} ± {scores[trial].se:.4f}" if trial in scores else "-"


def digest_of(dataset: str, root: Path | None) -> str:
    """Of the data and of what is done with them: rows of other bytes or other trials do not stand beside each other."""
    said = [sorted(fold_digests(dataset, load_fold(dataset, 1, root=root), root).values()), BASE, TRIALS, RULE_SETTINGS]
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=8).hexdigest()


def shipped(dataset: str, root: Path | None) -> Board:
    """The rows that come with the program for these data; none for others."""
    own, board = digest_of(dataset, root), Board()
    with BOARD.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            if line["data"] == own:
                scores = {key: word.split() for key, word in line.items() if word and key not in ("entry", "data")}
                board[line["entry"]] = {trial: Score(*map(float, pair)) for trial, pair in scores.items()}
    return board


def ship(dataset: str, root: Path | None, jobs: int | None) -> None:
    """Run every entry that comes with the program; each row takes its place beside those of other data once it is made.

    What is there already is not run again, so that a run that was interrupted goes on.
    """
    board = shipped(dataset, root)
    for entry, changes in ours().items():
        board |= run(dataset, {entry: changes}, TRIALS, board, root=root, jobs=jobs)[0]
        _keep(board, digest_of(dataset, root))


def _keep(board: Board, own: str) -> None:
    """Write the rows of the data with that digest; those of others stay."""
    with BOARD.open(encoding="utf-8", newline="") as lines:
        kept = [line for line in csv.DictReader(lines) if line["data"] != own]
    names = ["entry", "data", *(trial for group in TRIALS.values() for trial in group)]
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, names, lineterminator="\n", extrasaction="ignore")
    table.writeheader()
    table.writerows(kept)
    for entry, scores in board.items():
        written = {trial: f"{score.mean:.4f} {score.se:.4f}" for trial, score in scores.items()}
        table.writerow({"entry": entry, "data": own, **written})
    replace_file(BOARD, text.getvalue().encode())


if __name__ == "__main__":
    ship(sys.argv[1], data_folder(None, os.environ), 1)  # a worker takes longer to start than most entries to run
