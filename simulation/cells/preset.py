"""A preset: everything that decides a study, as strict TOML; what was run is stored in the same form.

    [paper]        what is reproduced: title, section, figure or table
    [data]         data set, folds, normalisation, what counts as a query
    [users]        how the simulated users click
    [federation]   clients, interactions of each in a round, rounds
    [method]       name, ranker, and the method's own settings
    [merging]      two owners of labelled queries whose rankers are merged, instead of users and a federation
    [sweep]        dotted keys, each with the list of values to try
    [expect]       the numbers printed in the paper
    seeds = 5      above the tables: how many repetitions, or a list of seeds
    like = "NAME"  above the tables: another preset, from which this one differs only in what it says
    with = [..]    above the tables: files and packages that bring methods, attacks and more (simulation.extensions)

An unknown name is an error that gives its place in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from foltr.privacy.correlated_noise import Correlation
from simulation.errors import PresetError
from simulation.run_folder import METRICS

Scalar = str | int | float | bool
Count = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
AT_LEAST_ONE = msgspec.Meta(min_length=1)
Clicks = str | dict[str, Any]
"""a click model by name, or as {model = NAME, ...} with your own numbers"""
Metric = Literal[METRICS]  # type: ignore[valid-type]  # the columns of a row: a new one is written there alone


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all tables of a preset are: strict and read-only."""


class Paper(_Table, frozen=True, kw_only=True):
    """Where the numbers come from; every field is text for people."""

    title: str = ""
    authors: str = ""
    section: str = ""
    figure: str = ""
    table: str = ""
    source: str = ""
    note: str = ""


class Data(_Table, frozen=True, kw_only=True):
    """What is searched."""

    dataset: str
    """a name that `--list` shows, or a folder in LETOR's layout"""
    folds: Annotated[tuple[Count, ...], AT_LEAST_ONE] | Literal["all"] = "all"
    in_place_of: str = ""
    """the requested data set, if `dataset` stands in for it; then nothing is compared with a paper"""
    normalise: Literal["default", "none", "min-max", "log-min-max"] = "default"
    """within each query; "default" is what is usual for the data set"""
    one_document: Literal["zero", "raw"] = "zero"
    """the result of min-max for a query with a single document"""
    no_relevant: Literal["skip", "zero", "one"] = "skip"
    """how a held-out query without a relevant document counts: papers differ"""
    users: Count | None = None
    """of a search log: how many real users, those with most queries; None: 100"""
    without: tuple[str, ...] = ()
    """users to leave out"""
    learn_from: Literal["train", "validation"] = "train"
    """the queries that users ask; some papers tuned on the validation queries of a fold"""
    indifferent: Literal["keep", "drop"] = "keep"
    """whether users ask queries whose documents all have one grade"""
    evaluate_on: Literal["test", "train"] = "test"
    """the queries of the offline metrics; "train" are those of `learn_from`, for papers that report them"""
    ties: Literal["first", "last"] = "first"
    """which of two documents with equal scores is ranked above the other"""
    k: Count = 10
    """the cutoff of offline nDCG"""
    depth: Count | None = None
    """ranks that offline MRR and MAP take into account; None: all"""
    top_grade: Count | None = None
    """the highest grade of the scale, 4 for MSLR and in gdeval; offline ERR@k is measured where it is given"""
    evaluate_clients_on: dict[str, Any] = {}
    """a partition, as in `federation.partition`, whose shares are also judged, each as its client sees it"""


class UserTable(_Table, frozen=True, kw_only=True):
    """Who searches."""

    clicks: Clicks | Annotated[tuple[Clicks, ...], AT_LEAST_ONE] = "perfect"
    """one kind for all, or several, given to clients in turn"""
    mix: Literal["client", "page"] = "client"
    """where there are several kinds or etas: whether each client has one, or each page one drawn at random"""
    table: Literal["thesis", "intents"] = "thesis"
    """whose click probabilities; "intents": those of the published code for two grades"""
    k: Count = 10
    """results on a page"""
    eta: NotNegative | Annotated[tuple[NotNegative, ...], AT_LEAST_ONE] = 1.0
    """pbm and fedips: position bias (1 / rank)^eta; FedIPS calls it gamma; several are given to clients in turn"""
    spread: NotNegative | None = None
    """pbm and fedips: standard deviation of eta between users; None is 0 for pbm and .1 for fedips"""
    logging_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """above 0: pages are shown by a ranker trained on the labels of this share of the training queries (FedIPS)"""


class Federation(_Table, frozen=True, kw_only=True):
    """How many take part, and for how long."""

    clients: Count = 10
    local: Count | tuple[Count, ...] = 5
    """interactions of each client in a round, B; or one number for each client"""
    partition: dict[str, Any] = {}
    """which client has which queries, as {kind = NAME, ...}; {}: every client draws from all queries (IID)"""
    in_order: bool = False
    """whether a client asks its queries one after another, each once, and then stops; else it draws them"""
    attack: dict[str, Any] = {}
    """what malicious clients do, as {attack = NAME, ...}"""
    malicious: Annotated[int, msgspec.Meta(ge=0)] = 0
    """how many clients are malicious, the last ones"""
    unlearning: dict[str, Any] = {}
    """how clients are forgotten after the last round, as {unlearning = NAME, ...}; {}: none is"""
    forgotten: Count | None = None
    """how many are forgotten, the last ones; None: as many as are malicious"""
    forgotten_from: Count = 1
    """the round in which these joined; before it the others learn without them"""
    rounds: Count = 1000
    evaluate_every: Annotated[int, msgspec.Meta(ge=0)] = 0
    """rounds between two rows of results; 0 makes twenty rows, whatever the number of rounds"""
    aggregation: dict[str, Any] = {}
    """the server's rule, as {rule = NAME, ...}; {} and the four below: the method's own settings of that name"""
    largest_weight: Count | None = None
    """most interactions of one client that count, if the method weighs by interactions"""
    guard: bool | None = None
    """whether the server judges each round, and aggregates robustly while it looks attacked"""
    assumed_malicious: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """how many bad updates the guard's rule withstands; 0 is a fifth of them"""
    optimizer: dict[str, Any] = {}
    """the server's step along the aggregated update, as {optimizer = NAME, ...}"""

    correlation: Correlation | None = None
    """how the noise of rounds is correlated, as {decays = [..], scales = [..], separation = b}, at the epsilon that
    method.privacy has with independent noise; None: it is independent, and everybody takes part in every round"""

    aliased: bool = False
    """FedPer (method.personal): whether all clients and the server share one hidden layer, as published"""

    acceptance: Acceptance | None = None
    """how clients test a ranker before they adopt it, as {incoming = "peers", ...}; None: they do not"""

    asynchrony: Asynchrony | None = None
    """how the server takes messages as they arrive, as {joins = "updates", ...}; None: it waits for all clients"""

    @property
    def unwaited(self) -> Asynchrony | None:
        """`asynchrony`, where nobody is waited for."""
        return None if self.asynchrony is None or self.asynchrony.joins == "rounds" else self.asynchrony

    @property
    def tested(self) -> Acceptance | None:
        """`acceptance`, where clients test anything."""
        return None if self.acceptance is None or self.acceptance.incoming == "untested" else self.acceptance

    @property
    def joining(self) -> dict[str, Any]:
        """What is said of the server, by the names that a method's settings have."""
        keys = ("aggregation", "largest_weight", "guard", "assumed_malicious", "optimizer")
        return {key: value for key in keys if (value := getattr(self, key)) not in (None, {})}

    @property
    def interval(self) -> int:
        """Rounds between two rows of results, at least 1."""
        return self.evaluate_every or max(1, self.rounds // 20)


class Merging(_Table, frozen=True, kw_only=True):
    """Two owners who learn from their own labels, and how their rankers are merged, instead of a federation."""

    split: dict[str, Any]
    """how queries are divided, as {kind = NAME, ...}"""
    merge_on: Literal["rest", "validation", "nothing"] = "rest"
    """the queries that clients merge on: those that nobody got, the validation queries, or none (no merging)"""
    judged_on: tuple[Literal["all", "first", "second"], ...] = ("all",)
    """the test queries: all, those of client 1's kind, those of client 2's"""


class ExpectedValue(_Table, frozen=True, kw_only=True):
    """One number of the paper: for which cells, which metric and when."""

    metric: Metric
    value: float
    where: dict[str, Scalar] = {}
    """swept keys and their values; only cells that have all of them are meant"""
    at: int | Literal["end"] = "end"
    """the round"""
    digits: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """after the point, as printed; None: as many as the value shows, or any of its metric and source in this preset"""
    sd: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """standard deviation between repetitions, if the paper gives it; else ours is used"""
    se: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """standard error of the number, instead of `sd` and `n`"""
    n: Count | None = None
    """repetitions behind the number, each of all folds; None: one"""
    source: str = ""
    note: str = ""


class ExpectedCurve(_Table, frozen=True, kw_only=True):
    """A curve of the paper, or of its published runs, by some of its points."""

    metric: Metric
    at: tuple[Annotated[int, msgspec.Meta(ge=0)], ...]
    """the positions of its points"""
    values: tuple[float, ...]
    x: Literal["interactions", "rounds"] = "interactions"
    """what `at` counts"""
    where: dict[str, Scalar] = {}
    """as for a single number"""
    source: str = ""

    def __post_init__(self) -> None:
        if len(self.at) != len(self.values) or list(self.at) != sorted(set(self.at)):
            raise ValueError(f"wanted `at` rising, with a value for each; got {len(self.at)} and {len(self.values)}")


class Expect(_Table, frozen=True, kw_only=True):
    """What the paper reports."""

    values: tuple[ExpectedValue, ...] = ()
    curves: tuple[ExpectedCurve, ...] = ()
    note: str = ""


class Preset(_Table, frozen=True, kw_only=True, rename={"with_": "with"}):
    """A study; `simulation.cells.cell.expand` makes its cells."""

    data: Data
    method: dict[str, Any]
    seeds: Count | Annotated[tuple[Annotated[int, msgspec.Meta(ge=0)], ...], AT_LEAST_ONE] = 1
    """how many, counted from 1; or which"""
    with_: tuple[str, ...] = ()
    """files and installed packages that add what is named here and is not part of the program"""
    paper: Paper = Paper()
    users: UserTable = UserTable()
    federation: Federation = Federation()
    merging: Merging | None = None
    sweep: dict[str, Any] = {}
    expect: Expect = Expect()

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of its tables have to know, of the study and of the paper's numbers."""
        learned = "Offline metrics are of the queries that were learned from." * (self.data.evaluate_on == "train")
        return tuple(note.strip() for note in (self.paper.note, self.expect.note, learned) if note)

    @property
    def seed_list(self) -> tuple[int, ...]:
        return tuple(range(1, self.seeds + 1)) if isinstance(self.seeds, int) else self.seeds


def decode_preset(tables: Mapping[str, Any], *, source: str) -> Preset:
    """The preset in those tables; PresetError names the source and the key that is wrong."""
    return decode_table(tables, Preset, source=source)


def preset_tables(preset: Preset) -> dict[str, Any]:
    """The preset as plain tables, every default written out; what `decode_preset` takes."""
    tables: dict[str, Any] = _without_none(msgspec.to_builtins(preset))
    return tables


def _without_none(value: Any) -> Any:
    """TOML has no null: a key that is not there means the same."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list | tuple) else value


_T = TypeVar("_T")
_S = TypeVar("_S", bound=msgspec.Struct)


def decode_table(table: Mapping[str, Any], kind: type[_T], *, source: str, at: str = "") -> _T:
    """A table as the record it should be; `at` is its dotted place."""
    try:
        return msgspec.convert(dict(table), kind)
    except msgspec.ValidationError as error:
        raise PresetError(f"{source}: {_place_and_fault(str(error), at, kind, table)}") from error


def decode_tagged(table: Mapping[str, Any], kinds: Mapping[str, type[_S]], *, tag: str, at: str) -> _S:
    """The record of the kind that a table names under `tag`; PresetError names the dotted place `at` and the fault."""
    name = str(table.get(tag, ""))
    if name not in kinds:
        raise PresetError(f"{at}.{tag}: there is no {name!r}; there are {', '.join(kinds)}")
    return decode_table(table, kinds[name], source="preset", at=at)


def _place_and_fault(message: str, at: str, kind: Any, table: Any) -> str:
    """msgspec's `Expected `int`, got `str` - at `$.data.k`` as `data.k: expected int, got str`."""
    fault, place = message, ""
    if found := re.fullmatch(r"(.*) - at `(?:key in )?\$\.?(.*)`", message, flags=re.DOTALL):
        fault, place = found[1], found[2]
    inside = ".".join(part for part in (at, place) if part)
    wanted = _type_at(kind, place)
    if key := re.fullmatch(r"Object contains unknown field `(.*)`", fault):
        known = f"; there are {', '.join(wanted.__struct_encode_fields__)}" if _is_record(wanted) else ""
        return f"{_dotted(inside, key[1])}: there is no such key{known}"
    if key := re.fullmatch(r"Object missing required field `(.*)`", fault):
        return f"{_dotted(inside, key[1])}: missing"
    literals = (get_args(kind) for kind in (wanted, *get_args(wanted)) if get_origin(kind) is Literal)
    if fault.startswith("Invalid enum value ") and (choices := next(literals, ())):
        return f"{inside}: {fault.removeprefix('Invalid enum value ')} is none of {', '.join(choices)}"
    fault = fault.replace("`", "")
    if place and "[" not in place and ", got " not in fault:
        came = reduce(lambda part, name: part.get(name, {}), filter(None, place.split(".")), table)
        fault += f", got {came!r}"
    return f"{inside or 'preset'}: {fault[:1].lower()}{fault[1:]}"


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _dotted(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _type_at(kind: Any, place: str) -> Any:
    """The type that a record of that kind wants at a dotted place; None where the place leads out of records."""
    for part in re.findall(r"[^.\[\]]+", place):
        if part.isdecimal() or part == "...":
            kind = (get_args(kind) or (None,))[0]
        elif _is_record(kind):
            kind = get_type_hints(kind).get(part)
        else:
            return None
    return kind


FEWEST_PAGES = 10
"""with an opened result; before that nothing is taken over"""


class Acceptance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a client tests what comes in."""

    incoming: Literal["peers", "server", "untested"] = "peers"
    """whose rankers are tested; "untested": the server's, which everybody begins with as in FPDGD"""
    pages: Annotated[int, msgspec.Meta(ge=FEWEST_PAGES)] = 100
    """the newest pages with an opened result that a client remembers"""
    level: Annotated[float, msgspec.Meta(ge=0)] = 1.6449
    """standard errors above 0 that the mean difference must be; 0: better is enough"""


class Asynchrony(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How messages are taken in as they come (simulation.rounds.asynchronous has the equations)."""

    joins: Literal["updates", "rankers", "rounds"] = "updates"
    """what moves the server's ranker; "rounds": it waits for everybody, as FPDGD"""
    weight: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    """of a message, before it is divided by its age"""
    decay: NotNegative = 1.0
    """a: a message s arrivals old counts (1 + s)^-a as much"""
    pace: NotNegative = 0.0
    """client c, from 1, arrives in proportion to c^-pace; 0: all equally often"""
