"""Compiled reading of LETOR lines: bytes to float32 rows, exactly as Python reads the same numbers.

A line is `grade qid:ID feature:value feature:value ... # comment`. `read_lines` reads whole lines of one block and
stops at the first that it cannot read; what went wrong comes back as a status and a place, and becomes words in
simulation.data.letor. Every loop stops at a line feed, and a block ends with one, so none asks for the block's end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arrays import BoolVector, ByteVector, Int64Vector
from simulation.batched import compiled

DONE, WIDER, BAD_GRADE, BAD_QID, BAD_FEATURE, TWICE, BAD_NUMBER = range(7)
"""Statuses: all lines read; a feature id beyond the matrix; and what a bad line has at the place that comes back."""

TOP_GRADE = 127
"""The largest grade: grades are int8."""

TOP_FEATURE = 99_999
"""The largest feature id: a larger one is a mistake of the file, and would ask for far too much memory."""

_EXACT, _HARD, _BAD = range(3)
_TAB, _FEED, _RETURN, _SPACE, _HASH, _PLUS, _MINUS, _POINT, _ZERO, _NINE, _COLON = b"\t\n\r #+-.09:"
_LOWER = 0x20
_TENS = np.array([10.0**power for power in range(23)])
_FULL = 10**18
"""A significand below this takes one more digit within 64 bits."""

_compiled = compiled(nogil=True, _nrt=False)
"""Without counting references to arrays: none is made or kept."""

_inlined = compiled(nogil=True, forceinline=True, _nrt=False)
"""The same, as a part of its callers."""


class Spans(NamedTuple):
    """Places in a block that are words, not numbers; filled by `read_lines`, one row per document of the block."""

    queries: Int64Vector
    """[n, 2] where the query id of a document begins and ends"""
    opens: BoolVector
    """[n] True where the query id is not that of the document before, and for the first"""
    comments: Int64Vector
    """[n, 2] the comment behind the `#`; begin = end where there is none"""
    lines: Int64Vector
    """[n] the line of the block, from 1"""
    hard: Int64Vector
    """[m, 4] numbers that need more than one rounding: row, column, begin, end"""


class LinesRead(NamedTuple):
    """How far `read_lines` came."""

    status: int
    place: int
    """where the block was left: after the last line read, or at what could not be read"""
    wanted: int
    """the feature id at hand, for WIDER, TWICE and BAD_NUMBER"""
    line: int
    """lines of the block begun so far, empty ones included"""
    start: int
    """where the last line begun begins"""
    rows: int
    """documents read"""
    hard: int
    """numbers in `Spans.hard`"""
    width: int
    """the largest feature id read"""


@_compiled
def read_lines(
    text: ByteVector,
    start: int,
    features: npt.NDArray[np.float32],
    grades: npt.NDArray[np.int8],
    spans: Spans,
    seen: Int64Vector,
) -> LinesRead:
    """Read the lines of `text` from `start`: values into `features` [n, n_features], zero before, and `grades` [n].

    The block must end with a line feed, and the arrays must have room for its documents; `seen` `[n_features + 1]` of
    -1 is room. A number with at most 2^53 as its significand and a power of ten within 22 is one correctly rounded
    float64 operation away from the text (Clinger 1990, How to read floating point numbers accurately, section 4); all
    others go to `spans.hard`.
    """
    row, line, hard, at, end = 0, 0, 0, start, len(text)
    while at < end:
        start = at
        line += 1
        at = _blank(text, at)
        if text[at] != _FEED and text[at] != _HASH:
            spans.lines[row] = line
            status, at, wanted, hard = _document(text, at, row, features, grades, spans, seen, hard)
            if status != DONE:
                return LinesRead(status, at, wanted, line, start, row, hard, _largest(seen))
            at = _comment(text, at, row, spans.comments)
            row += 1
        while text[at] != _FEED:
            at += 1
        at += 1
    return LinesRead(DONE, at, 0, line, start, row, hard, _largest(seen))


@_inlined
def _largest(seen: Int64Vector) -> int:
    """The largest feature id that any line had, 0 without one."""
    for feature in range(len(seen) - 1, 0, -1):
        if seen[feature] >= 0:
            return feature
    return 0


@_inlined
def _document(
    text: ByteVector,
    at: int,
    row: int,
    features: npt.NDArray[np.float32],
    grades: npt.NDArray[np.int8],
    spans: Spans,
    seen: Int64Vector,
    hard: int,
) -> tuple[int, int, int, int]:
    """Grade, query id and features of one line: (status, place, feature id, hard numbers so far)."""
    begin = at
    grade, at = _integer(text, at, TOP_GRADE)
    if text[at] == _POINT:  # 2.0, as tables of floats are written
        at += 1
        while text[at] == _ZERO:
            at += 1
    if grade < 0 or not _ends(text[at]):
        return BAD_GRADE, begin, 0, hard
    grades[row] = grade
    at = _query(text, _blank(text, at), row, spans)
    if at < 0:
        return BAD_QID, -at, 0, hard
    at = _blank(text, at)
    while text[at] != _FEED and text[at] != _HASH:
        begin = at
        feature, at = _integer(text, at, TOP_FEATURE)
        if feature < 1 or text[at] != _COLON:
            return BAD_FEATURE, begin, 0, hard
        if feature > features.shape[1]:
            return WIDER, begin, feature, hard
        if seen[feature] == row:
            return TWICE, begin, feature, hard
        seen[feature] = row
        begin = at + 1
        value, at, kind = _number(text, begin)
        if kind == _BAD or not _ends(text[at]):
            return BAD_NUMBER, begin, feature, hard
        if kind == _HARD:
            spans.hard[hard, 0], spans.hard[hard, 1] = row, feature - 1
            spans.hard[hard, 2], spans.hard[hard, 3] = begin, at
            hard += 1
        features[row, feature - 1] = value
        at = _blank(text, at)
    return DONE, at, 0, hard


@_inlined
def _blank(text: ByteVector, at: int) -> int:
    """The first place from `at` on that is no space, tab or carriage return."""
    while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
        at += 1
    return at


@_inlined
def _ends(byte: int) -> bool:
    """Whether a word ends before this byte."""
    return byte in (_SPACE, _FEED, _RETURN, _TAB, _HASH)


@_inlined
def _integer(text: ByteVector, at: int, top: int) -> tuple[int, int]:
    """Digits as a number and the place behind them; -1 where there is no digit or the number is above `top`."""
    value = -1
    while _ZERO <= text[at] <= _NINE and value <= top:
        value = max(value, 0) * 10 + int(text[at]) - _ZERO
        at += 1
    return (value if value <= top else -1), at


@_inlined
def _query(text: ByteVector, at: int, row: int, spans: Spans) -> int:
    """Note the id behind `qid:`: the place behind it, or the negative place where `qid:` and an id should be."""
    begin = at
    for byte in b"qid:":
        if text[at] != byte:
            return -begin
        at += 1
    begin = at
    while not _ends(text[at]):
        at += 1
    if at == begin:
        return -begin
    spans.queries[row, 0], spans.queries[row, 1] = begin, at
    spans.opens[row] = row == 0 or not _same(text, begin, at, spans.queries[row - 1, 0], spans.queries[row - 1, 1])
    return at


@_inlined
def _same(text: ByteVector, begin: int, end: int, former: int, former_end: int) -> bool:
    """Whether two spans hold the same bytes."""
    if end - begin != former_end - former:
        return False
    step = 0
    while step < end - begin and text[begin + step] == text[former + step]:
        step += 1
    return step == end - begin


@_inlined
def _comment(text: ByteVector, at: int, row: int, comments: Int64Vector) -> int:
    """Note what stands behind the `#`, without the blanks around it: the place of the line feed."""
    begin = end = _blank(text, at + 1) if text[at] == _HASH else at
    at = begin
    while text[at] != _FEED:
        if not (text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN):
            end = at + 1
        at += 1
    comments[row, 0], comments[row, 1] = begin, end
    return at


@_inlined
def _number(text: ByteVector, at: int) -> tuple[float, int, int]:
    """A decimal number: (its value or 0, the place behind it, _EXACT, _HARD or _BAD)."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    begin, significand, power, full = at, np.uint64(0), 0, False
    while _ZERO <= text[at] <= _NINE:
        full = full or bool(significand >= np.uint64(_FULL))
        significand = significand * np.uint64(10) + np.uint64(text[at] - _ZERO)
        at += 1
    digits = at - begin
    if text[at] == _POINT:
        at += 1
        begin = at
        while _ZERO <= text[at] <= _NINE:
            full = full or bool(significand >= np.uint64(_FULL))
            significand = significand * np.uint64(10) + np.uint64(text[at] - _ZERO)
            at += 1
        digits += at - begin
        power = begin - at
    if digits == 0:
        return 0.0, at, _BAD
    if text[at] | _LOWER == 0x65:  # e or E
        shift, at, valid = _exponent(text, at + 1)
        power += shift
        if not valid:
            return 0.0, at, _BAD
    if full or significand > np.uint64(2**53) or not -22 <= power <= 22:
        return 0.0, at, _HARD
    value = np.float64(significand)
    value = value / _TENS[-power] if power < 0 else value * _TENS[power]
    return (-value if negative else value), at, _EXACT


@_inlined
def _exponent(text: ByteVector, at: int) -> tuple[int, int, bool]:
    """The power of ten behind an e, the place behind it, and whether it has a digit; beyond 9999 any power will do."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    begin, power = at, 0
    while _ZERO <= text[at] <= _NINE:
        power = min(power * 10 + int(text[at]) - _ZERO, 9999)
        at += 1
    return (-power if negative else power), at, at > begin
