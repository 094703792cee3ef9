"""Names for people."""

from __future__ import annotations

from simulation.report.display_names import caption, key_titles, metric_title, setting_text, short_number


def test_short_names_stay_distinct() -> None:
    """A key is called by its last part unless two keys share it; `name` says nothing by itself."""
    settings = [(("method.name", "fpdgd"), ("users.k", 1), ("data.k", 2), ("method.learning_rate", 0.1))]
    titles = key_titles(settings)
    assert list(titles.values()) == ["method", "users.k", "data.k", "learning rate"]
    assert caption(settings[0], titles, skip=["data.k"]) == "fpdgd, users.k 1, learning rate 0.1"
    assert caption((), titles) == "all"


def test_values_and_metrics_for_people() -> None:
    """The cutoff is that of the held-out rankings; pages have their own length. Thousands and millions are short."""
    assert [setting_text(v) for v in (True, False, 1e-05, 3, "x", None)] == ["yes", "no", "1e-05", "3", "x", "-"]
    assert [metric_title(m, k=10) for m in ("offline_ndcg", "offline_map")] == ["offline nDCG@10", "offline MAP"]
    assert metric_title("online_ndcg", k=10) == "online nDCG"
    assert [short_number(v) for v in (0, 999, 12500, 2e6)] == ["0", "999", "12.5k", "2M"]
