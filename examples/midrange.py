"""A rule of the server: halfway between the extremes of each parameter; nobody would take it against attackers.

foltr-search --simulate sample --with examples/midrange.py --aggregation midrange

A rule makes one row of those that clients sent; a study of fewer clients than `least_rows` is refused before it runs.
"""

from foltr.federated.aggregation.rows import RuleSettings, check_rows


class Midrange(RuleSettings, frozen=True, tag="midrange"):
    """Midrange."""

    @property
    def least_rows(self):
        return 2

    def combine(self, rows, weights=None):
        """(largest + smallest) / 2 of the differences [n_clients, n_params]; `weights` are not used."""
        x = check_rows(rows)
        return (x.max(axis=0) + x.min(axis=0)) / 2


RULES = {"midrange": Midrange}
