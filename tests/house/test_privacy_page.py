"""The privacy page lists exactly what leaves a device."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from app.federation.terms import HEADERS, records
from foltr.federated.wire import DEVICE_RECORDS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_holds_the_generated_list() -> None:
    """docs/privacy.md is as docs/make_reference.py writes it."""
    spec = importlib.util.spec_from_file_location("make_reference", DOCS / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    make_reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_reference)
    text = (DOCS / "privacy.md").read_text(encoding="utf-8")
    assert text == make_reference.privacy(text), "run `python docs/make_reference.py`"


def test_the_page_names_every_field_of_every_record_and_no_other() -> None:
    """Read by itself, the page's tables are the fields of the wire records, in their order, and the signing headers."""
    text = (DOCS / "privacy.md").read_text(encoding="utf-8").partition("begin of the records")[2]
    listed = re.findall(r"^\| `([^`]+)` \|", text.partition("<!-- end -->")[0], flags=re.MULTILINE)
    fields = [name for kind in DEVICE_RECORDS for name in kind.__struct_fields__]
    assert listed == [*fields, *HEADERS]


def test_the_list_is_read_off_the_records() -> None:
    """`foltr-search privacy` shows the fields that the records really have, each with a type in words."""
    for kind, sent in zip(DEVICE_RECORDS, records(), strict=True):
        assert tuple(field.name for field in sent.fields) == kind.__struct_fields__
        assert sent.meaning
        assert all(field.type in ("text", "bytes", "number", "yes or no") for field in sent.fields)
