"""Tables of a preset as records; what does not fit is named by its dotted place, with what was wanted and what came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from simulation.errors import PresetError

_T = TypeVar("_T")
_S = TypeVar("_S", bound=msgspec.Struct)


def decode_table(table: Mapping[str, Any], kind: type[_T], *, source: str, at: str = "") -> _T:
    """A table as the record it should be; `at` is its dotted place."""
    try:
        return msgspec.convert(dict(table), kind)
    except msgspec.ValidationError as error:
        raise PresetError(f"{source}: {_place_and_fault(str(error), at, kind)}") from error


def decode_tagged(table: Mapping[str, Any], kinds: Mapping[str, type[_S]], *, tag: str, at: str) -> _S:
    """The record of the kind that a table names under `tag`; PresetError names the dotted place `at` and the fault."""
    name = str(table.get(tag, ""))
    if name not in kinds:
        raise PresetError(f"{at}.{tag}: there is no {name!r}; there are {', '.join(kinds)}")
    return decode_table(table, kinds[name], source="preset", at=at)


def _place_and_fault(message: str, at: str, kind: Any) -> str:
    """msgspec's `Expected `int`, got `str` - at `$.data.k`` as `data.k: expected int, got str`."""
    fault, place = message, ""
    if found := re.fullmatch(r"(.*) - at `(?:key in )?\$\.?(.*)`", message, flags=re.DOTALL):
        fault, place = found[1], found[2]
    inside = ".".join(part for part in (at, place) if part)
    wanted = _type_at(kind, place)
    if key := re.fullmatch(r"Object contains unknown field `(.*)`", fault):
        known = f"; there are {', '.join(wanted.__struct_fields__)}" if _is_record(wanted) else ""
        return f"{_dotted(inside, key[1])}: there is no such key{known}"
    if key := re.fullmatch(r"Object missing required field `(.*)`", fault):
        return f"{_dotted(inside, key[1])}: missing"
    if choices := next((get_args(kind) for kind in (wanted, *get_args(wanted)) if get_origin(kind) is Literal), ()):
        return f"{inside}: {fault.removeprefix('Invalid enum value ')} is none of {', '.join(choices)}"
    fault = fault.replace("`", "")
    return f"{inside or 'preset'}: {fault[:1].lower()}{fault[1:]}"


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _dotted(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _type_at(kind: Any, place: str) -> Any:
    """The type that a record of that kind wants at a dotted place; None where the place leads out of records."""
    for part in re.findall(r"[^.\[\]]+", place):
        if part.isdecimal() or part == "...":
            kind = (get_args(kind) or (None,))[0]
        elif _is_record(kind):
            kind = get_type_hints(kind).get(part)
        else:
            return None
    return kind
