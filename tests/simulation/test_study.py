"""What is shown of a study that did not come to its end."""

from __future__ import annotations

from simulation.cells.preset import ExpectedValue
from simulation.run_folder import Row
from simulation.study import _reached


def row(clicks: str, round_number: int) -> Row:
    return Row(
        cell=clicks,
        settings={"users.clicks": clicks},
        fold=1,
        seed=1,
        round=round_number,
        interactions=round_number,
        offline_ndcg=0.5,
    )


def test_the_papers_last_number_is_not_drawn_at_the_end_of_an_unfinished_curve() -> None:
    """A number of the end stays only where every curve that it speaks of is finished; one of a round always stays."""
    finished, unfinished = row("perfect", 10), row("informational", 4)
    numbers = [
        ExpectedValue(metric="offline_ndcg", value=0.5, where={"users.clicks": clicks}, at=at)
        for clicks in ("perfect", "informational")
        for at in ("end", 4)
    ]
    of_all = ExpectedValue(metric="offline_ndcg", value=0.5)
    kept = _reached([*numbers, of_all], [finished, unfinished], whole=[finished])
    assert [(number.where["users.clicks"], number.at) for number in kept] == [
        ("perfect", "end"),
        ("perfect", 4),
        ("informational", 4),
    ]
    assert _reached([*numbers, of_all], [finished], whole=[finished]) == [*numbers, of_all]
