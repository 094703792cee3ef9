"""The published programs on the same data with the same users: interactions a second of processor time.

`--repositories DIR` holds

    DIR/OnlineLearningToRank    a checkout of github.com/HarrieO/OnlineLearningToRank     "pdgd"
    DIR/fpdgd-ictir2021         a checkout of github.com/ielab/fpdgd-ictir2021            "fpdgd"
    DIR/foltr-es                a checkout of github.com/facebookresearch/foltr-es        "foltr-es"
    DIR/venv                    their interpreter: python3 -m venv DIR/venv
                                DIR/venv/bin/pip install "numpy<2" scipy torch            torch for foltr-es alone

The programs are older than numpy 2 and so cannot share this one's interpreter. Each runs as a separate process that is
kept alive (published_worker.py), on one thread, and reports its processor time. Ours is measured in this process,
as `benchmarks.simulation_speed` does it: everything that happens for one page included, evaluation on test data apart.
Both sides read the same queries: 300 queries of 120 random documents with 136 features, and fold 1 of MQ2008.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.pairs import AbsentError, Bench, Measure, Sample
from benchmarks.simulation_speed import even_queries, rate, rounds
from foltr.federated.registry import make_method
from foltr.ranking.rankers import Linear, Neural
from simulation.data.datasets import load_fold
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import THREE_GRADES, make_users
from simulation.rounds.federation import Population

CHECKOUTS = {
    "pdgd": ("OnlineLearningToRank", "HarrieO/OnlineLearningToRank"),
    "fpdgd": ("fpdgd-ictir2021", "ielab/fpdgd-ictir2021"),
    "foltr-es": ("foltr-es", "facebookresearch/foltr-es"),
}
"""name -> the folder below DIR, and where it is published"""
SHOWN = {"pdgd": "HarrieO's PDGD", "fpdgd": "ielab's FPDGD", "foltr-es": "foltr-es"}
"""name -> as the table names it"""
NEEDED = {"pdgd": "numpy", "fpdgd": "scipy", "foltr-es": "torch"}
"""what each program's interpreter must be able to import"""

QUANTITY = "interactions a CPU-s"
SECONDS_OURS, SECONDS_THEIRS = 0.5, 1.0
"""processor time of one measurement; a round that takes longer is finished"""


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table."""

    method: str
    data: str
    users: str
    n_clients: int
    n_local: int
    hidden: int = 0
    """units of the hidden layer; 0: a linear ranker"""

    @property
    def work(self) -> str:
        """As the table names it."""
        size = f"{self.n_clients:,} x {self.n_local:,}"
        ranker = f"neural {self.hidden}" if self.hidden else "linear"
        return f"{self.method.upper()} {ranker}, {self.data}, {size}, {self.users} users"


EVEN, MQ2008 = "120 x 136", "MQ2008"
CASES = (
    *(Case("pdgd", MQ2008, users, 1, 8000) for users in ("navigational", "informational", "perfect")),
    Case("pdgd", EVEN, "navigational", 1, 2000),
    Case("pdgd", EVEN, "navigational", 1, 500, hidden=64),
    *(Case("fpdgd", MQ2008, users, 10, 5) for users in ("navigational", "informational", "perfect")),
    Case("fpdgd", MQ2008, "navigational", 100, 20),
    *(Case("fpdgd", EVEN, users, 10, 5) for users in ("navigational", "informational", "perfect")),
    *(Case("foltr-es", MQ2008, users, 1000, 4) for users in ("navigational", "informational", "perfect")),
    Case("foltr-es", EVEN, "navigational", 1000, 4),
    Case("foltr-es", EVEN, "navigational", 1000, 4, hidden=10),
)


def checkout_of(name: str, repositories: Path | None) -> Path:
    """The program's folder; AbsentError that says how to get it."""
    folder, source = CHECKOUTS[name]
    if repositories is None or not (repositories / folder).is_dir():
        raise AbsentError(f"git clone https://github.com/{source} DIR/{folder}, and --repositories DIR")
    python = interpreter(repositories)
    if not python.exists():
        raise AbsentError(f'python3 -m venv DIR/venv, and DIR/venv/bin/pip install "numpy<2" scipy {NEEDED[name]}')
    found = subprocess.run((python, "-c", f"import numpy, {NEEDED[name]}"), capture_output=True, timeout=120)
    if found.returncode:
        raise AbsentError(f'DIR/venv/bin/pip install "numpy<2" scipy {NEEDED[name]}')
    return repositories / folder


def interpreter(repositories: Path) -> Path:
    """The Python that the published programs run in."""
    return repositories.absolute() / "venv" / "bin" / "python"


def versions(repositories: Path | None) -> list[str]:
    """The commit of each checkout that is there, and numpy's and torch's version there."""
    if repositories is None or not interpreter(repositories).exists():
        return []
    found = []
    for folder, source in CHECKOUTS.values():
        commit = _printed(("git", "-C", str(repositories / folder), "rev-parse", "--short", "HEAD"))
        found += [f"{source} {commit}"] if commit else []
    code = "import numpy; print('numpy', numpy.__version__); import torch; print('torch', torch.__version__)"
    their = _printed((str(interpreter(repositories)), "-c", code)).split("\n")
    return [*found, *(f"{line} there" for line in their if line)]


def measure(bench: Bench, names: set[str], *, repositories: Path | None, data: Path | None) -> None:
    """All cases of the programs named, MQ2008 where `data` has it."""
    asked = [name for name in CHECKOUTS if name in names]
    there = [name for name in asked if bench.present(SHOWN[name], partial(checkout_of, name, repositories))]
    if repositories is None or not there:
        return
    with tempfile.TemporaryDirectory(prefix="foltr-peers-") as folder:
        sets = {EVEN: even_queries(300, n_docs=120, n_features=136)}
        try:
            sets[MQ2008] = load_fold("mq2008", 1, root=data).train
        except Exception as error:  # no data, or not all of it: the made-up queries remain
            bench.remarks.append(f"MQ2008: not here: {error}; --data DIR")
        files = {name: Files.write(data, Path(folder) / name.replace(" ", "")) for name, data in sets.items()}
        for name in there:
            with worker(name, repositories) as ask:
                for case in CASES:
                    if case.method == name and case.data in sets:
                        _case(bench, case, sets[case.data], files[case.data], ask)


def _case(bench: Bench, case: Case, data: QuerySet, files: Files, ask: Ask) -> None:
    ready = False

    def theirs() -> Sample:
        nonlocal ready
        if not ready:
            table = THREE_GRADES[case.users]
            wanted = {"text": str(files.text), "arrays": str(files.arrays), "features": data.n_features,
                      "click": table.click, "stop": table.stop, "clients": case.n_clients, "local": case.n_local,
                      "hidden": case.hidden}  # fmt: skip
            ask({"set up": wanted}, bench.patience())
            ready = True
        answer = ask({"seconds": SECONDS_THEIRS}, bench.patience())
        return {QUANTITY: answer["done"] / answer["cpu"]}

    bench.compare(case.work, ours(case, data), {SHOWN[case.method]: theirs})


def ours(case: Case, data: QuerySet) -> Measure:
    """Rounds of our own method with the same users."""
    ranker = Neural(data.n_features, case.hidden) if case.hidden else Linear(data.n_features)
    settings: dict[str, object] = {"truth_probability": 1.0} if case.method == "foltr-es" else {}
    population = Population(data, make_users(case.users, top_grade=2), case.n_clients, case.n_local)
    step = rounds(make_method(case.method, ranker, settings), population)
    return lambda: {QUANTITY: rate(step, seconds=SECONDS_OURS)}


@dataclass(frozen=True, slots=True)
class Files:
    """A set of queries as the published programs read it."""

    text: Path
    """LETOR lines"""
    arrays: Path
    """features [n_docs, n_features], grades [n_docs], offsets [n_queries + 1]: HarrieO's own reader is Python 2"""

    @classmethod
    def write(cls, data: QuerySet, stem: Path) -> Files:
        """Both files; seven digits of each feature."""
        files = cls(stem.with_suffix(".txt"), stem.with_suffix(".npz"))
        np.savez(files.arrays, features=data.features, grades=data.grades, offsets=data.offsets)
        line = " ".join(f"{i + 1}:%.7g" for i in range(data.n_features))
        with files.text.open("w") as stream:
            for query in range(data.n_queries):
                for row in range(int(data.offsets[query]), int(data.offsets[query + 1])):
                    values = line % tuple(data.features[row].tolist())
                    stream.write(f"{data.grades[row]} qid:{query + 1} {values} #\n")
        return files


Ask = Callable[[dict[str, Any], float], dict[str, Any]]
"""a question and the seconds to wait; RuntimeError for what failed there, TimeoutExpired when nothing comes"""


@contextmanager
def worker(name: str, repositories: Path) -> Iterator[Ask]:
    """A published program in a separate process; it ends with the block."""
    script = Path(__file__).with_name("published_worker.py")
    command = (str(interpreter(repositories)), str(script), name, str(checkout_of(name, repositories).absolute()))
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=_environment(), text=True
        )
        try:
            yield lambda asked, seconds: _answer(child, asked, seconds)
        finally:
            child.kill()
            child.wait()


def _answer(child: subprocess.Popen[str], asked: dict[str, Any], seconds: float) -> dict[str, Any]:
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("the worker has no pipes")
    child.stdin.write(json.dumps(asked) + "\n")
    child.stdin.flush()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        if not selector.select(seconds):
            raise subprocess.TimeoutExpired("the published program", seconds)
    line = child.stdout.readline()
    if not line:
        raise RuntimeError(f"it ended with status {child.wait()}")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


def _environment() -> dict[str, str]:
    """Nothing of our own folders, no files written beside the programs, one thread (the caller has set that)."""
    return {**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, "PYTHONDONTWRITEBYTECODE": "1"}


def _printed(command: tuple[str, ...]) -> str:
    """What a command prints, as far as it comes; "" when it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
