"""Sums in 16 lanes: to the bit what their definition says, for all lengths and precisions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numba.core.errors import TypingError

from foltr import arithmetic
from simulation.batched import kernel
from simulation.batched.simd_sums import dot, exp, log, log1p, squared_distance, waves

Array = npt.NDArray[Any]
RNG = np.random.default_rng(0)


@kernel()
def both_sums(x, y):  # type: ignore[no-untyped-def]
    return dot(x, y), squared_distance(x, y)


@kernel()
def elementary(x, found):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        size = abs(x[i])
        found[0, i], found[1, i], found[2, i] = exp(x[i]), log(size), log1p(size)
        found[3, i], found[4, i] = waves(size / 1000.0)


def by_definition(x: Array, y: Array, combined: Callable[[Array, Array], Array]) -> Any:
    """Sixteen lanes, then halves, each with as many of the rest as it has lanes."""
    total, place, width = np.zeros(16, np.result_type(x, y)), len(x) // 16 * 16, 8
    x, y = x.astype(total.dtype), y.astype(total.dtype)
    for start in range(0, place, 16):
        total = total + combined(x[start : start + 16], y[start : start + 16])
    while width:
        total = total[:width] + total[width:]
        if len(x) & width:
            total = total + combined(x[place : place + width], y[place : place + width])
            place += width
        width //= 2
    return total[0]


def test_python_itself_adds_up_the_same() -> None:
    """Where NUMBA_DISABLE_JIT is set, by which an author looks into a kernel, a study has the same numbers."""
    x, y = np.linspace(0.1, 9.0, 45, dtype="f4"), np.geomspace(0.1, 9.0, 45)
    code = (
        "import numpy as np; from tests.simulation.batched.test_simd_sums import both_sums\n"
        "print(*map(float, both_sums(np.linspace(0.1, 9.0, 45, dtype='f4'), np.geomspace(0.1, 9.0, 45))))"
    )
    variables = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert tuple(map(float, done.stdout.split())) == both_sums(x, y), done.stderr


@pytest.mark.parametrize("kinds", [("f4", "f4"), ("f8", "f8"), ("f4", "f8")], ids=str)
def test_sums_are_those_of_their_definition(kinds: tuple[str, str]) -> None:
    """Of 0 to 149 numbers."""
    for n in range(150):
        x, y = (RNG.normal(size=n).astype(kind) for kind in kinds)
        product, square = both_sums(x, y)
        assert product == by_definition(x, y, np.multiply)
        assert square == by_definition(x, y, lambda a, b: (a - b) * (a - b))


def test_an_array_with_gaps_is_refused() -> None:
    """A column of a matrix would be read as if it were a row."""
    with pytest.raises(TypingError, match="arrays without gaps"):
        both_sums(np.zeros((3, 3))[:, 0], np.zeros(3))


def test_compiled_functions_give_the_bits_of_those_on_arrays() -> None:
    """Exponential, logarithms, cosine and sine."""
    x = RNG.uniform(-700, 700, 1_000)
    found, size = np.zeros((5, len(x))), np.abs(x)
    elementary(x, found)
    expected = arithmetic.exp(x), arithmetic.log(size), arithmetic.log1p(size), *arithmetic.waves(size / 1000.0)
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))
