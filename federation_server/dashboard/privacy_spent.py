"""How much privacy a member spends who takes part in every round."""

from __future__ import annotations

import math

import msgspec

from foltr.federated.wire import Terms
from foltr.privacy.accounting import Ledger
from foltr.privacy.mechanisms import Mechanism

DELTA = 1e-5


def epsilon(agreed: Terms, n_rounds: int) -> float | None:
    """Epsilon at delta 1e-5 against this server after `n_rounds`, zero-out neighbours; None without a guarantee."""
    mechanism = msgspec.convert(agreed.settings.get("privacy", {"mechanism": "none"}), Mechanism)
    spent = Ledger(agreed.n_params).spend(mechanism, n_rounds).epsilon(DELTA, against="server") if n_rounds else 0.0
    return spent if math.isfinite(spent) else None
