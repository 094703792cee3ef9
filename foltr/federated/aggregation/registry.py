"""All aggregation rules by name.

A field of type `Aggregation` reads {"rule": NAME, ...} strictly, NAME being a key of RULES. A new rule is a line there.
"""

from __future__ import annotations

from typing import TypeAlias, get_args

from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.bulyan import Bulyan
from foltr.federated.aggregation.centred_clipping import CentredClipping
from foltr.federated.aggregation.geometric_median import GeometricMedian
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.nearest_neighbour_mixing import NearestNeighbourMixing
from foltr.federated.aggregation.norm_clipping import NormClipping
from foltr.federated.aggregation.rows import RuleSettings
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean

Aggregation: TypeAlias = (
    Mean
    | Median
    | TrimmedMean
    | Krum
    | MultiKrum
    | Bulyan
    | GeometricMedian
    | CentredClipping
    | NormClipping
    | NearestNeighbourMixing
)

RULES: dict[str, type[RuleSettings]] = {str(rule.__struct_config__.tag): rule for rule in get_args(Aggregation)}
"""by the name that each has as its tag"""
