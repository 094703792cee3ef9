"""What a study says of clients who test a ranker before they take it over (simulation.acceptance)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

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
