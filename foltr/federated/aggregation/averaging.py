"""FedAvg: the mean of what the devices sent.

    sum_i w_i x_i / sum_i w_i

with w_i = 1 or the number of interactions (McMahan et al., AISTATS 2017; thesis Algorithm 2). One malicious row can
move it anywhere.
"""

from __future__ import annotations

import numpy.typing as npt

from foltr.arithmetic import weighted_sum
from foltr.arrays import FloatVector
from foltr.federated.aggregation.rows import RuleSettings, check_rows, shares


class Mean(RuleSettings, frozen=True, tag="mean"):
    """FedAvg."""

    def combine(self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatVector:
        """The weighted mean `[n_params]` of `rows` `[n_clients, n_params]`."""
        x = check_rows(rows)
        return weighted_sum(shares(weights, len(x)), x)
