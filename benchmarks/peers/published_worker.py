"""Drives a published program. Run by that program's own interpreter, never imported: it knows nothing of this project.

    PYTHON published_worker.py NAME CHECKOUT        NAME: pdgd, fpdgd or foltr-es

It stays alive and answers lines of JSON on its standard input with lines of JSON:

    {"set up": {...}}   ->  {"ready": true}       reads the data (each file once), makes users and clients
    {"seconds": 1.0}    ->  {"done": n, "cpu": s}  n interactions in s processor seconds of the steady part
    anything that fails ->  {"error": "..."}

Only the programs' own classes do the work; what stands here calls them in the order in which their scripts do. Where a
program is older than its Python, the interpreter is made to suit it while it runs: `numpy.complex` is given back, and
print statements of Python 2 in one module are passed over.
"""

from __future__ import annotations

import importlib
import json
import queue
import random
import re
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Step = Callable[[], int]
"""goes one round further and gives the interactions of that round"""

PAGE = 10


def pdgd(checkout: Path, wanted: dict[str, Any]) -> Step:
    """HarrieO/OnlineLearningToRank: its SingleSimulation, 100 impressions at a time, without evaluation on test data.

    Its users may stop at documents that they have not opened, so they see less of each page than ours.
    """
    np.complex = complex  # type: ignore[attr-defined]  # gone from numpy since 1.24
    sys.path[:0] = [str(checkout), str(checkout / "utils")]
    without_prints("models.neuralmodel", checkout / "models" / "neuralmodel.py")
    simulation = importlib.import_module("utils.singlesimulation")
    clicks = importlib.import_module("utils.clicks")
    data = np.load(wanted["arrays"])
    features, labels = data["features"].astype(np.float64), data["grades"].astype(np.int32)
    ranges = data["offsets"].astype(np.int32)
    users = clicks.ClickModel("users", "given", np.array(wanted["click"]), np.array(wanted["stop"]))
    fold = types.SimpleNamespace(
        data_path="", heldout_tag="", train_feature_matrix=features, train_label_vector=labels,
        train_doclist_ranges=ranges, n_train_queries=lambda: len(ranges) - 1,
        train_query_labels=lambda query: labels[ranges[query] : ranges[query + 1]],
    )  # fmt: skip
    impressions = 100
    chosen = types.SimpleNamespace(
        train_only=True, n_impressions=impressions, n_results=PAGE, print_freq=impressions, all_train=False,
        print_logscale=False,
    )  # fmt: skip
    ours = {"n_results": PAGE, "n_features": features.shape[1], "learning_rate": 0.1, "learning_rate_decay": 1.0}
    if wanted["hidden"]:
        ranker = importlib.import_module("algorithms.PDGD.deeppdgd").DeepPDGD([wanted["hidden"]], **ours)
    else:
        ranker = importlib.import_module("algorithms.PDGD.pdgd").PDGD(**ours)
    results: queue.Queue[object] = queue.Queue()
    run = simulation.SingleSimulation(chosen, results, users, fold)

    def step() -> int:
        run.run(ranker, "benchmark")
        results.get()
        return impressions

    return step


def fpdgd(checkout: Path, wanted: dict[str, Any]) -> Step:
    """ielab/fpdgd-ictir2021: rounds of its RankingClient and its averaging, without evaluation on test data."""
    sys.path.insert(0, str(checkout))
    client = importlib.import_module("client.client")
    users = importlib.import_module("clickModel.click_simulate").CcmClickModel(
        dict(enumerate(wanted["click"])), dict(enumerate(wanted["stop"])), "users", PAGE
    )
    read = importlib.import_module("data.LetorDataset").LetorDataset
    data = once(wanted["text"], lambda: read(wanted["text"], wanted["features"]))
    ranker = importlib.import_module("ranker.PDGDLinearRanker").PDGDLinearRanker(wanted["features"], 0.1)
    n, local = int(wanted["clients"]), int(wanted["local"])
    # Its script passes a ninth argument that the class does not take.
    clients = [client.RankingClient(data, ranker, seed, users, 0.0, 0.0, False, n) for seed in range(n)]

    def step() -> int:
        messages = [one.client_ranker_update(local, True)[0] for one in clients]
        ranker.federated_averaging_weights(messages)
        for one in clients:
            one.update_model(ranker)
        return n * local

    return step


def foltr_es(checkout: Path, wanted: dict[str, Any]) -> Step:
    """facebookresearch/foltr-es: rounds of its RankingClient, its gradients and its Adam; true answers, both signs."""
    sys.path.insert(0, str(checkout))
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    client, rankers = (importlib.import_module(f"foltr.client.{name}") for name in ("client", "rankers"))
    reward = importlib.import_module("foltr.client.metrics").PrivatizedMaxRR(1.0, PAGE)
    users = importlib.import_module("foltr.client.click_simulate").CcmClickModel(
        dict(enumerate(wanted["click"])), dict(enumerate(wanted["stop"])), "users", PAGE
    )
    read = importlib.import_module("foltr.data.datasets").MqDataset.read_mq_file
    data = once(wanted["text"], lambda: read(wanted["text"], wanted["features"], None))
    hidden = wanted["hidden"]
    ranker = rankers.TwoLayerRanker(wanted["features"], hidden) if hidden else rankers.LinearRanker(wanted["features"])
    adam = torch.optim.Adam(ranker.parameters(), lr=1e-3)
    n, local, sigma = int(wanted["clients"]), int(wanted["local"]), 0.01
    clients = [client.RankingClient(data, ranker, seed, users, reward, True, sigma) for seed in range(n)]

    def step() -> int:
        ranker.zero_grad()
        messages = [one.get_click_feedback(local) for one in clients]
        rankers.update_gradients(ranker, sigma, messages, inverse=True)
        adam.step()
        for one in clients:
            one.update_model(ranker)
        return n * local

    return step


def once(path: str, read: Callable[[], Any]) -> Any:
    """What `read` gives, read the first time only: one file is used with several kinds of users."""
    if path not in _DATA:
        _DATA[path] = read()
    return _DATA[path]


_DATA: dict[str, Any] = {}


def without_prints(name: str, path: Path) -> None:
    """Import a module of Python 2 as `name`, its print statements replaced by nothing."""
    source = re.sub(r"(?m)^(\s*)print\s+[^(\s].*$", r"\1pass", path.read_text())
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(source, str(path), "exec"), module.__dict__)


PROGRAMS: dict[str, Callable[[Path, dict[str, Any]], Step]] = {"pdgd": pdgd, "fpdgd": fpdgd, "foltr-es": foltr_es}


def main() -> None:
    """Answer until the input ends."""
    program, checkout = PROGRAMS[sys.argv[1]], Path(sys.argv[2])
    answers, sys.stdout = sys.stdout, sys.stderr  # the programs print, too
    np.random.seed(1)
    random.seed(1)
    step: Step | None = None
    for line in sys.stdin:
        try:
            asked = json.loads(line)
            if "set up" in asked:
                step = program(checkout, asked["set up"])
                step()  # what is made at the first call is not measured
                answer: dict[str, object] = {"ready": True}
            elif step is None:
                raise RuntimeError("nothing is set up")
            else:
                answer = taken(step, asked["seconds"])
        except Exception as error:  # the other side writes it down and goes on without this program
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def taken(step: Step, seconds: float) -> dict[str, object]:
    """Rounds until so much processor time has passed, at least one."""
    done, started = 0, time.process_time()
    while (passed := time.process_time() - started) < seconds:
        done += step()
    return {"done": done, "cpu": passed}


if __name__ == "__main__":
    main()
