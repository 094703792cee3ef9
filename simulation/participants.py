"""Who takes part in a cell: how many clients, what each holds and does, and who of them is malicious."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from foltr.errors import ValueRangeError
from foltr.federated.method import Method
from simulation.attacks.registry import ATTACKS
from simulation.attacks.settings import AttackSettings
from simulation.cell import Cell
from simulation.click_models import Users, in_turn, last_ones, make_users
from simulation.data.datasets import DATASETS
from simulation.data.queries import Fold, QuerySet, join
from simulation.decoding import decode_tagged
from simulation.errors import PresetError
from simulation.federation import Population
from simulation.partitions.registry import PARTITIONS

CENTRALISED = ("pdgd",)
"""methods without a federation: one learner sees the pages of all clients of a round, one after another"""
ATTACKED = ("fpdgd",)
"""methods whose clients send weights, which is what attacks replace"""


def participants(cell: Cell, fold: Fold) -> Population:
    """Who takes part: their queries, their clicks, how often they search, and what the malicious ones do."""
    federation = cell.preset.federation
    n_clients, n_local = size(cell)
    shares = shares_of(cell, federation.partition, fold.train, at="federation.partition")
    ends = np.cumsum([0, *(share.n_queries for share in shares)])
    attack = attack_of(cell)
    return Population(
        join(shares) if shares else fold.train,
        _users(cell, fold, n_clients, attack),
        n_clients,
        n_local if isinstance(n_local, int) else np.array(n_local, dtype=np.int64),
        holds=np.stack([ends[:-1], ends[1:]], axis=1) if shares else None,
        attack=attack,
        n_malicious=federation.malicious,
        in_order=federation.in_order,
    )


def size(cell: Cell) -> tuple[int, int | tuple[int, ...]]:
    """How many clients there are and how many interactions each has in a round; PresetError where these do not fit."""
    federation = cell.preset.federation
    n_clients, n_local = federation.clients, federation.local
    if not isinstance(n_local, int) and len(n_local) != n_clients:
        raise PresetError(
            f"federation.local: wanted one number or {n_clients}, one for each client, got {len(n_local)}"
        )
    if cell.method.name in CENTRALISED:
        return 1, n_clients * n_local if isinstance(n_local, int) else sum(n_local)
    return n_clients, n_local


def attack_of(cell: Cell) -> AttackSettings | None:
    """What malicious clients do; PresetError for an attack without anybody, or more attackers than clients."""
    federation = cell.preset.federation
    if federation.malicious > federation.clients:
        raise PresetError(
            f"federation.malicious: wanted at most the {federation.clients} of federation.clients, got "
            f"{federation.malicious}"
        )
    if federation.malicious and not federation.attack:
        raise PresetError(f"federation.attack: what do the malicious do? there are {', '.join(ATTACKS)}")
    if not federation.attack:
        return None
    if cell.method.name not in ATTACKED:
        raise PresetError(f"federation.attack: attacks are on {', '.join(ATTACKED)}, not on {cell.method.name}")
    attack = decode_tagged(federation.attack, ATTACKS, tag="attack", at="federation.attack")
    if attack.clicks and federation.malicious and cell.preset.users.mix == "page":
        raise PresetError('users.mix: malicious users have a behaviour of their own, so "page" is not for them')
    try:
        attack.check(federation.clients, federation.malicious)
    except ValueRangeError as error:
        raise PresetError(f"federation.attack: {error}") from error
    return attack


def check_rule(cell: Cell, method: Method[Any, Any]) -> None:
    """PresetError for a rule of the server that takes more clients than there are."""
    rule, n_clients = getattr(method, "aggregation", None), size(cell)[0]
    if rule is not None and n_clients < rule.least_rows:
        at = "federation" if cell.preset.federation.aggregation else "method"
        raise PresetError(
            f"{at}.aggregation: {rule.__struct_config__.tag} needs at least {rule.least_rows} clients, not {n_clients}"
        )


def shares_of(cell: Cell, table: dict[str, Any], queries: QuerySet, *, at: str) -> tuple[QuerySet, ...]:
    """The shares of all clients by a partition `table`, the same for the same seed and fold; () without one."""
    if not table:
        return ()
    partition = decode_tagged(table, PARTITIONS, tag="kind", at=at)
    rng = np.random.default_rng(cell.sequence().spawn(3)[2])
    try:
        return tuple(partition.split(queries, size(cell)[0], rng))
    except PresetError as error:
        raise PresetError(f"{at}: {error} in {cell.preset.data.dataset}, fold {cell.fold}") from error


def _users(cell: Cell, fold: Fold, n_clients: int, attack: AttackSettings | None) -> Users:
    """The simulated users; with the click model's table for the grades of the data set."""
    table, info = cell.preset.users, DATASETS.get(cell.preset.data.dataset)
    top_grade = info.top_grade if info else max(1, int(fold.train.grades.max()), int(fold.test.grades.max()))
    kinds = (table.clicks,) if isinstance(table.clicks, str) else table.clicks
    etas = np.atleast_1d(table.eta)
    rng = np.random.default_rng(cell.sequence().spawn(1)[0])
    groups = [
        make_users(
            kind,
            top_grade=top_grade,
            n_clients=n_clients,
            k=table.k,
            rng=rng,
            eta=float(eta),
            spread=table.spread,
            table=table.table,
        )
        for kind in kinds
        for eta in etas
    ]
    if len(groups) == 1:
        users = groups[0]
    elif table.mix == "page":
        users = replace(in_turn(groups, len(groups)), mixed=True)
    else:
        users = in_turn(groups, n_clients)
    if attack is None or not attack.clicks:
        return users
    malicious = make_users(attack.clicks, top_grade=top_grade, k=table.k, table=table.table)
    return last_ones(users, malicious, cell.preset.federation.malicious, n_clients=n_clients)
