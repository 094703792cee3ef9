"""How the inner functions of the compiled rounds are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

IN_ANY_ORDER = frozenset({"reassoc", "contract", "nsz"})
"""sums may be taken in any order, so that they are taken as vectors"""
CONTRACTED = frozenset({"contract"})
"""a product may go into a sum unrounded"""


def kernel(*, fastmath: frozenset[str] = frozenset(), inlined: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """A function on arrays that it is given and does not keep: it makes none, and counts no references to them.

    Counting them is an atomic addition for each array that a line names, and was two fifths of all the time of a page.
    `inlined` becomes part of every caller, which saves handing over seven words for each array.
    """
    return njit(  # type: ignore[call-overload, no-any-return]  # the option is numba's own, and it has no stub
        cache=True, error_model="numpy", fastmath=set(fastmath), forceinline=inlined, _nrt=False
    )
