"""What people call metrics, swept keys and settings: in tables, legends and titles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulation.report.statistics import Settings
from simulation.run_folder import Setting

TITLES = {
    "offline_ndcg": "offline nDCG",
    "offline_max_rr": "offline MaxRR",
    "offline_mrr": "offline MRR",
    "offline_map": "offline MAP",
    "offline_err": "offline ERR",
    "offline_ndcg_clients": "offline nDCG on own labels",
    "offline_ndcg_personal": "offline nDCG of own rankers",
    "online_ndcg": "online nDCG",
    "online_mrr": "online MRR",
    "online_max_rr": "online MaxRR",
    "cumulative_ndcg": "cumulative online nDCG",
    "worst_ndcg": "worst 500 rounds online",
    "guard_alert": "rounds with an alarm",
    "suspected_malicious": "malicious suspected",
    "suspected_honest": "honest suspected",
    "chosen_alpha": "alpha",
    "learned_queries": "queries",
    "learned_score_share": "gain of scores",
    "epsilon": "epsilon",
    "auc": "AUC of the attacker",
    "auc_proven": "proven",
    "guessed": "guessed",
    "mu": "mu",
    "unlearning_distance": "distance moved",
    "unlearning_ndcg": "nDCG of the forgotten",
    "unlearning_stretch": "stretch",
}
"""metrics in the order in which they are shown"""

SELDOM_DRAWN = ("offline_max_rr", "offline_mrr", "offline_map", "online_mrr", "online_max_rr")
"""nDCG says nearly the same as these, and a picture takes longer than many a cell: drawn where the paper has them"""

UNRANKED = (
    "chosen_alpha", "learned_queries", "learned_score_share", "epsilon", "auc", "auc_proven", "guessed", "mu",
    "guard_alert", "suspected_malicious", "suspected_honest", "unlearning_distance", "unlearning_stretch",
)  # fmt: skip
"""more of these is not better: they are not tested"""

CONDITIONS = ("data", "users")
"""tables of a preset that say under which conditions something is tried; the others say what is tried"""

WHO_TAKES_PART = tuple(f"federation.{key}" for key in ("attack", "malicious", "partition", "clients", "local"))
"""how the keys begin that say who holds what, how many search how often, who attacks, and in which way"""

RANKER_KEYS = ("ranker", "client")
"""what is tried where two owners merge their rankers: everything else, the method too, is a condition"""


def metric_title(metric: str, *, k: int | None = None) -> str:
    """A metric for people; `k` is the cutoff of the held-out rankings where it is known (a page has its own length)."""
    title = TITLES.get(metric, metric)
    return f"{title}@{k}" if k is not None and metric.startswith(("offline_ndcg", "offline_err")) else title


def key_titles(settings: Iterable[Settings]) -> dict[str, str]:
    """A short name for every swept key: its last part, or the whole key where that would name two."""
    keys = list(dict.fromkeys(key for combination in settings for key, _ in combination))
    short = {key: _short(key) for key in keys}
    names = list(short.values())
    return {key: name if names.count(name) == 1 else key for key, name in short.items()}


def setting_text(value: Setting | None) -> str:
    """A value in a table or a legend."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def caption(settings: Settings, titles: dict[str, str], *, skip: Sequence[str] = ()) -> str:
    """A combination on one line: words as they are, numbers with their key; keys in `skip` are left out."""
    parts = [
        str(value) if isinstance(value, str) else f"{titles.get(key, key)} {setting_text(value)}"
        for key, value in settings
        if key not in skip
    ]
    return ", ".join(parts) or "all"


def short_number(value: float) -> str:
    """12,000 as 12k, 2,000,000 as 2M."""
    for limit, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{suffix}"
    return f"{value:g}"


def condition_keys(settings: Iterable[Settings]) -> list[str]:
    """The swept keys that are conditions, such as the users' click model."""
    keys = dict.fromkeys(key for combination in settings for key, _ in combination)
    if RANKER_KEYS[0] in keys:
        return [key for key in keys if key not in RANKER_KEYS]
    return [key for key in keys if key.partition(".")[0] in CONDITIONS]


def comparison_keys(settings: Iterable[Settings]) -> list[str]:
    """The swept keys within whose values methods are compared: conditions, and who takes part, attackers included.

    A defence is judged against others under the same attack: that more attackers do more harm is no finding about it,
    and each test costs all others some power. Partitions are no methods either: with one grade a client the pages alone
    make cumulative nDCG larger, whatever is learned.
    """
    found = list(settings)
    taking_part = (key for combination in found for key, _ in combination if key.startswith(WHO_TAKES_PART))
    return list(dict.fromkeys([*condition_keys(found), *taking_part]))


def group_by(settings: Iterable[Settings], keys: Sequence[str]) -> dict[Settings, list[Settings]]:
    """Combinations by their values of those keys."""
    groups: dict[Settings, list[Settings]] = {}
    for combination in settings:
        groups.setdefault(tuple(item for item in combination if item[0] in keys), []).append(combination)
    return groups


def _short(key: str) -> str:
    parts = key.split(".")
    return (parts[-2] if parts[-1] == "name" and len(parts) > 1 else parts[-1]).replace("_", " ")
