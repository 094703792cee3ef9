"""The parts of a cell, made from its preset: fold, queries, ranker and method, participants and leavers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Method
from foltr.federated.registry import METHODS, make_method, settings_type
from foltr.ranking.rankers import Neural, Ranker, make_ranker
from simulation.attacks import AttackSettings
from simulation.attacks.registry import ATTACKS
from simulation.cells.cell import LEARN_FROM_LABELS, Cell, MethodChoice
from simulation.cells.evaluation import Judged, judge
from simulation.cells.preset import Clicks, Data, decode_table, decode_tagged
from simulation.data.datasets import DATASETS, MOST_ACTIVE, Askers, load_fold
from simulation.data.queries import Fold, QuerySet, join
from simulation.errors import DatasetError, PresetError
from simulation.labels.logging_policy import without_indifferent
from simulation.partitions import PARTITIONS
from simulation.rounds.click_models import KINDS, Users, in_turn, last_ones, make_users
from simulation.rounds.federation import Population
from simulation.rounds.numbered_models import CLICK_MODELS, ClickModel, check_tables
from simulation.studies import Measurement
from simulation.studies.registry import MEASUREMENTS
from simulation.unlearning import UNLEARNING
from simulation.unlearning.past import UnlearningSettings


def fold_of(cell: Cell, root: Path | None) -> Fold:
    """The data of a cell, as its preset wants it scaled."""
    data = cell.preset.data
    return load_fold(
        data.dataset,
        cell.fold,
        root=root,
        normalise=None if data.normalise == "default" else data.normalise,
        one_document=data.one_document,
        askers=Askers(data.users or MOST_ACTIVE, data.without) if data.users or data.without else None,
    )


def asked(cell: Cell, fold: Fold) -> QuerySet:
    """The queries that users ask; DatasetError for a fold that does not have them."""
    data = cell.preset.data
    asked = fold.train if data.learn_from == "train" else fold.validation
    if asked is None:
        raise DatasetError(f"data.learn_from: fold {fold.number} of {data.dataset} has no validation queries")
    return without_indifferent(asked) if data.indifferent == "drop" else asked


def held_out(cell: Cell, fold: Fold) -> QuerySet:
    """The queries that rankers are judged on."""
    return fold.test if cell.preset.data.evaluate_on == "test" else fold.train


def judged_as(data: Data, queries: QuerySet) -> Judged:
    """Queries that rankers are judged on, by what [data] counts."""
    return judge(
        queries, k=data.k, no_relevant=data.no_relevant, ties=data.ties, depth=data.depth, top_grade=data.top_grade
    )


def ranker_of(choice: MethodChoice, n_features: int) -> Ranker:
    """The kind of ranker that [method] names."""
    return Neural(n_features, choice.hidden) if choice.ranker == "neural" else make_ranker(choice.ranker, n_features)


def method_of(cell: Cell, ranker: Ranker, *, production: Sequence[float] = ()) -> Method[Any, Any]:
    """The method of a cell, with what other tables of the preset decide for it; FoltrError for what does not fit."""
    choice, settings = cell.method, dict(cell.method.settings)
    if choice.name not in METHODS:
        known = ", ".join([*METHODS, *LEARN_FROM_LABELS, *MEASUREMENTS])
        raise PresetError(f"method.name: there is no method {choice.name!r}; there are {known}")
    fields = settings_type(choice.name).__struct_fields__
    for key, value in cell.preset.federation.joining.items():
        if key not in fields:
            raise PresetError(f"federation.{key}: the server of {choice.name} has no such setting")
        settings[key] = value
    if cell.preset.users.logging_share > 0:
        if "production" not in fields:
            raise PresetError(f"users.logging_share: {choice.name} shows the pages of what it learns")
        settings["production"] = list(production)
    return make_method(choice.name, ranker, settings)


def measurement_of(cell: Cell) -> Measurement:
    """What is measured in place of a method; PresetError names a setting of it that is wrong."""
    return decode_table(cell.method.settings, MEASUREMENTS[cell.method.name], source="preset", at="method")


CENTRALISED = ("pdgd",)
"""methods without a federation: one learner sees the pages of all clients of a round, one after another"""


def sends_weights(name: str) -> bool:
    """Whether the clients of a method send weights, as FPDGD's do: these are what attacks replace."""
    kind = METHODS.get(name)
    return isinstance(kind, type) and issubclass(kind, FPDGD) and name not in CENTRALISED


def participants(cell: Cell, fold: Fold) -> Population:
    """Who takes part: their queries, their clicks, how often they search, and what the malicious ones do."""
    federation = cell.preset.federation
    n_clients, n_local = size(cell)
    shares = shares_of(cell, federation.partition, fold.train, at="federation.partition")
    ends = np.cumsum([0, *(share.n_queries for share in shares)])
    attack = attack_of(cell)
    users = _users(cell, fold, federation.clients, attack)
    if cell.method.name in CENTRALISED and users.n_behaviours > 1 and not users.mixed:  # its pages are all clients'
        each = np.repeat(np.arange(federation.clients), federation.local if isinstance(federation.local, tuple) else 1)
        users = replace(users.behaving(each), mixed=True)
    return Population(
        join(shares) if shares else fold.train,
        users,
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
    """What malicious clients do; PresetError where none is named, or for more attackers than clients."""
    federation = cell.preset.federation
    if federation.malicious > federation.clients:
        raise PresetError(
            f"federation.malicious: wanted at most the {federation.clients} of federation.clients, got "
            f"{federation.malicious}"
        )
    if federation.malicious and not federation.attack:
        raise PresetError(f"federation.attack: wanted what malicious clients do; there are {', '.join(ATTACKS)}")
    if not federation.attack:
        return None
    if not sends_weights(cell.method.name):
        attacked = ", ".join(filter(sends_weights, METHODS))
        raise PresetError(f"federation.attack: attacks are on {attacked}, not on {cell.method.name}")
    attack = decode_tagged(federation.attack, ATTACKS, tag="attack", at="federation.attack")
    if attack.clicks and federation.malicious and cell.preset.users.mix == "page":
        raise PresetError('users.mix: malicious users have a behaviour of their own, so "page" is not for them')
    try:
        attack.check(federation.clients, federation.malicious)
    except ValueRangeError as error:
        raise PresetError(f"federation.attack: {error}") from error
    return attack


def check_rule(cell: Cell, method: Method[Any, Any]) -> None:
    """PresetError for a rule of the server that takes more clients than there are, or than stay, or no rows at all."""
    rule, n_clients = getattr(method, "aggregation", Mean()), size(cell)[0]
    if cell.preset.federation.unlearning.get("unlearning", "none") != "none" and n_leavers(cell) < n_clients:
        n_clients -= n_leavers(cell)  # where nobody stays, `unlearning_of` says it
    at = "federation" if cell.preset.federation.aggregation else "method"
    if n_clients < rule.least_rows:
        wanted = f"{rule.__struct_config__.tag} needs at least {rule.least_rows} clients"
        raise PresetError(f"{at}.aggregation: {wanted}, not {n_clients}")
    try:
        if rule != Mean() and type(rule).__module__.startswith("foltr."):  # what somebody brings fails its cell alone
            rule.combine(np.random.default_rng(1).random((n_clients, 2)))
    except ValueRangeError as error:
        raise PresetError(f"{at}.aggregation: {error}") from error


def shares_of(cell: Cell, table: dict[str, Any], queries: QuerySet, *, at: str) -> tuple[QuerySet, ...]:
    """The shares of all clients by a partition `table`, the same for the same seed and fold; () without one."""
    if not table:
        return ()
    partition = decode_tagged(table, PARTITIONS, tag="kind", at=at)
    n_clients, rng = size(cell)[0], np.random.default_rng(cell.sequence().spawn(3)[2])
    try:
        shares = partition.split(queries.locked(), n_clients, rng)
        if not isinstance(shares, Sequence) or len(shares) not in (0, n_clients):
            got = len(shares) if isinstance(shares, Sequence) else type(shares).__name__
            raise PresetError(f"wanted a share for each of {n_clients} clients, got {got}")
        if others := [share for share in shares if not isinstance(share, QuerySet)]:
            raise PresetError(f"wanted shares that `select` makes, got {type(others[0]).__name__}")
        return tuple(shares)
    except PresetError as error:
        raise PresetError(f"{at}: {error} in {cell.preset.data.dataset}, fold {cell.fold}") from error


def click_models_of(cell: Cell) -> list[str | ClickModel]:
    """How the users of a cell click, by name or as a record; PresetError for a name that does not exist."""
    given = cell.preset.users.clicks
    return [_click_model(choice) for choice in ([given] if isinstance(given, str | dict) else given)]


def _click_model(choice: Clicks) -> str | ClickModel:
    if isinstance(choice, dict) or choice in CLICK_MODELS:
        table = choice if isinstance(choice, dict) else {"model": choice}
        return decode_tagged(table, CLICK_MODELS, tag="model", at="users.clicks")
    if choice not in KINDS:
        raise PresetError(f"users.clicks: {choice!r} is none of {', '.join((*KINDS, *CLICK_MODELS))}")
    return choice


def _users(cell: Cell, fold: Fold, n_clients: int, attack: AttackSettings | None) -> Users:
    """The simulated users; with the click model's table for the grades of the data set."""
    table, info = cell.preset.users, DATASETS.get(cell.preset.data.dataset)
    top_grade = info.top_grade if info else max(1, int(fold.train.grades.max()), int(fold.test.grades.max()))
    rng = np.random.default_rng(cell.sequence().spawn(1)[0])
    groups: list[Users] = []
    for model in click_models_of(cell):
        if isinstance(model, ClickModel):
            users = model.users(n_grades=top_grade + 1, n_clients=n_clients, k=table.k, rng=rng)
            check_tables(model.__struct_config__.tag, users, n_grades=top_grade + 1, n_clients=n_clients, k=table.k)
            groups.append(users)
            continue
        groups += [
            make_users(
                model,
                top_grade=top_grade,
                n_clients=n_clients,
                k=table.k,
                rng=rng,
                eta=float(eta),
                spread=table.spread,
                table=table.table,
            )
            for eta in np.atleast_1d(table.eta)
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


def unlearning_of(cell: Cell) -> UnlearningSettings | None:
    """How clients are forgotten; PresetError where nobody is there to be forgotten, or nobody would be left."""
    federation, settings = cell.preset.federation, cell.method.settings
    if not federation.unlearning:
        if federation.forgotten or federation.forgotten_from > 1:
            raise PresetError(f"federation.unlearning: wanted a way to forget; there are {', '.join(UNLEARNING)}")
        return None
    if not sends_weights(cell.method.name) or settings.get("shared") or settings.get("personal"):
        senders = ", ".join(filter(sends_weights, METHODS))
        raise PresetError(f"federation.unlearning: it is of whole weights that {senders} sends")
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
    """The rounds in which they take part, counted from 1."""
    return range(cell.preset.federation.forgotten_from, cell.preset.federation.rounds + 1)


def length(cell: Cell) -> tuple[int, int]:
    """How many rounds are played before rows begin to be numbered, and how many in all."""
    learned, way = cell.preset.federation.rounds, unlearning_of(cell)
    return (learned, learned + way.rounds(rounds_together(cell))) if way else (0, learned)
