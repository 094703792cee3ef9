"""SFC64, the generator of the simulated streams, for compiled code: the numbers of numpy, from the same states.

    out = a + b + w;  w <- w + 1;  a <- b ^ (b >> 11);  b <- c + (c << 3);  c <- rotl(c, 24) + out     (mod 2^64)

(Chris Doty-Humphrey, PractRand). A state is a row `[4]` of uint64 in numpy's order a, b, c, w, advanced in place.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_ONE, _THREE, _ELEVEN = np.uint64(1), np.uint64(3), np.uint64(11)
_ROTATE, _BACK = np.uint64(24), np.uint64(40)


@njit(cache=True)
def uniform(state):  # type: ignore[no-untyped-def]
    """The next number in [0, 1) as `Generator.random()` gives it: the upper 53 bits times 2^-53."""
    a, b, c, w = state[0], state[1], state[2], state[3]
    out = a + b + w
    state[0] = b ^ (b >> _ELEVEN)
    state[1] = c + (c << _THREE)
    state[2] = ((c << _ROTATE) | (c >> _BACK)) + out
    state[3] = w + _ONE
    return np.int64(out >> _ELEVEN) * 1.1102230246251565e-16
