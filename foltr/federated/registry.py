"""Methods by name, made from plain settings as a preset or a server's configuration holds them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import or_
from typing import Any, get_type_hints

import msgspec

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.registry import RULES, Aggregation
from foltr.federated.coltr import COLTR
from foltr.federated.dbgd import DBGD
from foltr.federated.fedips import FedIPS
from foltr.federated.foltr_es import FoltrES
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Method
from foltr.ranking.rankers import Ranker

METHODS: dict[str, Callable[..., Method[Any, Any]]] = {
    "pdgd": FPDGD,
    "fpdgd": FPDGD,
    "dbgd": DBGD,
    "coltr": COLTR,
    "foltr-es": FoltrES,
    "fedips": FedIPS,
}
"""frozen dataclasses: `ranker` first, then the settings; "pdgd" is FPDGD for one client with all the interactions"""
_hints = cache(get_type_hints)
"""a class's hints never change, and finding them takes longer than all else here"""


def settings_type(name: str) -> type[msgspec.Struct]:
    """The settings of a method as a strict record: its dataclass's fields but for the ranker, with their defaults."""
    method = METHODS[_known(name)]
    hints = _hints(method)
    fields: list[Any] = []
    for field in (one for one in dataclasses.fields(method) if one.name != "ranker"):  # type: ignore[arg-type]
        any_rule = hints[field.name] == Aggregation  # those included that the laboratory was brought
        entry: tuple[Any, ...] = (field.name, reduce(or_, RULES.values()) if any_rule else hints[field.name])
        if field.default is not dataclasses.MISSING:
            entry += (field.default,)
        elif field.default_factory is not dataclasses.MISSING:
            entry += (msgspec.field(default_factory=field.default_factory),)
        fields.append(entry)
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def make_method(name: str, ranker: Ranker, settings: Mapping[str, object]) -> Method[Any, Any]:
    """The method of that name; ValueRangeError names an unknown method, or the setting that does not fit."""
    kind = settings_type(name)
    try:
        record = msgspec.convert(dict(settings), kind)
    except msgspec.ValidationError as error:
        known = ", ".join(kind.__struct_fields__)
        hint = f"; there are {known}" if not set(settings) <= set(kind.__struct_fields__) else ""
        raise ValueRangeError(f"settings of {name}: {_with_names(str(error), kind)}{hint}") from error
    values = {field: getattr(record, field) for field in record.__struct_fields__}
    return METHODS[name](ranker, **values)


def _known(name: str) -> str:
    if name not in METHODS:
        raise ValueRangeError(f"no method {name!r}; there are {', '.join(METHODS)}")
    return name


def _with_names(message: str, kind: type[msgspec.Struct]) -> str:
    """The message with the place first, and with the names there are where it refuses one of a rule or a mechanism."""
    found = re.search(r"Invalid value '([^']*)' - at `\$\.(\w+)\.(\w+)`", message)
    if found is None:
        return re.sub(r"Object missing required field `(\w+)` - at `\$\.(\w+)`", r"\2: \1 is missing", message)
    name, field, tag_field = found.groups()
    hint = msgspec.inspect.type_info(get_type_hints(kind)[field])
    choices = hint.types if isinstance(hint, msgspec.inspect.UnionType) else (hint,)
    structs = [one for one in choices if isinstance(one, msgspec.inspect.StructType) and one.tag_field == tag_field]
    names = ", ".join(str(struct.tag) for struct in structs)
    return f"{field}: no {tag_field} {name!r}; there are {names}" if names else message
