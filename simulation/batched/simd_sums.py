"""Sums of products as vectors of 16 numbers, added in one order on every processor.

    lane l   sum of x_i y_i over i = l, l + 16, l + 32, ...
    then     lanes 0-7 and 8-15 are added, the next 8 products where so many are left, then halves again: 4, 2, 1

A compiler that may add in any order takes vectors as wide as the processor's, and so other last digits on each; one
that may not uses none at all, and takes four times as long. So the vectors are written out. A processor with narrower
ones splits them, which changes no digit, because nothing here may be reordered or multiplied and added in one step.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from foltr import arithmetic
from foltr.arrays import FloatVector
from simulation.batched import kernel

_WIDE = 16
Combined = Callable[[Any, Any, Any], Any]
"""what is added up, of a builder, x and y"""


def _squared_difference(builder: Any, x: Any, y: Any) -> Any:
    apart = builder.fsub(x, y)
    return builder.fmul(apart, apart)


class _Sum:
    """The code of one sum over two arrays, widened to the same precision."""

    def __init__(self, builder: Any, combined: Combined, kind: Any, *sources: tuple[Any, Any]) -> None:
        self.builder, self.combined, self.kind, self.sources = builder, combined, kind, sources

    def zeros(self, n: int) -> Any:
        """So many lanes of nothing."""
        return ir.Constant(ir.VectorType(self.kind, n), None)

    def lanes(self, place: Any, n: int) -> Any:
        """What is added up of the next n numbers."""
        return self.combined(self.builder, *(self._loaded(data, kind, place, n) for data, kind in self.sources))

    def _loaded(self, data: Any, kind: Any, place: Any, n: int) -> Any:
        wide, builder = ir.VectorType(kind, n), self.builder
        pointer = builder.bitcast(builder.gep(data, [place]), ir.PointerType(wide))
        loaded = builder.load(pointer, align=4 if kind == ir.FloatType() else 8)
        return loaded if kind == self.kind else builder.fpext(loaded, ir.VectorType(self.kind, n))

    def halves(self, total: Any, n: int) -> Any:
        """The lanes from n on added to those before."""
        low, high = (ir.Constant(ir.VectorType(ir.IntType(32), n), [*range(at, at + n)]) for at in (0, n))
        shuffled = (self.builder.shuffle_vector(total, total, side) for side in (low, high))
        return self.builder.fadd(*shuffled)

    def whole(self, length: Any) -> Any:
        """The sum of the first `length`."""
        builder, zero = self.builder, ir.Constant(length.type, 0)
        room = cgutils.alloca_once_value(builder, self.zeros(_WIDE))  # type: ignore[no-untyped-call]
        past = builder.and_(length, ir.Constant(length.type, -_WIDE))
        with cgutils.for_range_slice(builder, zero, past, ir.Constant(length.type, _WIDE)) as (place, _):
            builder.store(builder.fadd(builder.load(room), self.lanes(place, _WIDE)), room)
        total, n = builder.load(room), _WIDE // 2
        while n:
            room = cgutils.alloca_once_value(builder, self.halves(total, n))  # type: ignore[no-untyped-call]
            left = builder.and_(length, ir.Constant(length.type, n))
            with builder.if_then(builder.icmp_unsigned("!=", left, zero)):
                builder.store(builder.fadd(builder.load(room), self.lanes(past, n)), room)
            past, total, n = builder.add(past, left), builder.load(room), n // 2
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


def _sum_of(combined: Combined) -> Any:
    """A compiled function of two arrays `[n]` without gaps, float32 or float64; that of both in the wider."""

    def typed(_: Any, x: Any, y: Any) -> Any:
        if x.layout != "C" or y.layout != "C":
            raise TypingError(f"arrays without gaps are added up, not {x} and {y}")
        kind = x.dtype if x.dtype == y.dtype else types.float64

        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            kinds = signature.args
            arrays = [context.make_array(one)(context, builder, value) for one, value in zip(kinds, given, strict=True)]
            sources = [(at.data, context.get_data_type(one.dtype)) for at, one in zip(arrays, kinds, strict=True)]
            (length,) = cgutils.unpack_tuple(builder, arrays[0].shape)  # type: ignore[no-untyped-call]
            return _Sum(builder, combined, context.get_data_type(signature.return_type), *sources).whole(length)

        return kind(x, y), code

    return _by_definition(combined) if config.DISABLE_JIT else intrinsic(typed)  # type: ignore[attr-defined]


def _by_definition(combined: Combined) -> Any:
    """The same sum, to the bit, for Python itself, which runs all kernels where NUMBA_DISABLE_JIT says so."""
    numpy = SimpleNamespace(fmul=np.multiply, fsub=np.subtract)

    def added(x: FloatVector, y: FloatVector) -> Any:
        products, n = combined(numpy, x, y), _WIDE
        place = len(products) // n * n
        total = np.add.accumulate([np.zeros(n, products.dtype), *products[:place].reshape(-1, n)])[-1]
        while n := n // 2:
            total = total[:n] + total[n:]
            if len(products) & n:
                total, place = total + products[place : place + n], place + n
        return total[0]

    return added


dot = _sum_of(lambda builder, x, y: builder.fmul(x, y))
"""sum over i of x_i y_i"""
squared_distance = _sum_of(_squared_difference)
"""sum over i of (x_i - y_i)^2"""

power_of_e = kernel(inlined=True)(arithmetic.power_of_e)
log = kernel(inlined=True)(arithmetic.log)


@kernel(inlined=True)
def exp(x):  # type: ignore[no-untyped-def]
    """`foltr.arithmetic.exp` of a number up to `LARGEST`."""
    return power_of_e(max(x, arithmetic.SMALLEST)) if x >= arithmetic.SMALLEST else 0.0


@kernel(inlined=True)
def log1p(x):  # type: ignore[no-untyped-def]
    """`foltr.arithmetic.log1p`."""
    u = 1.0 + x
    return log(u) + (x - (u - 1.0)) / u


waves = kernel(inlined=True)(arithmetic.waves)
