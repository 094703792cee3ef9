"""The privacy page lists exactly what leaves a device."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Literal

import pytest

from app.federation.consent import at_most, per_cent, share
from app.federation.terms import HEADERS, TYPES, protection_of, records
from federation_server.settings import MethodSection, ServerSettings
from federation_server.setup import terms_of
from foltr.federated.wire import DEVICE_RECORDS
from foltr.privacy.accounting import best_auc, best_guess, gaussian_epsilon, mu_of
from foltr.privacy.mechanisms import Gaussian
from indexer.retrieval.features import MANIFEST_HASH, NAMES

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
    """`foltr-search privacy --records` shows the fields that the records really have, each with a type in words."""
    for kind, sent in zip(DEVICE_RECORDS, records(), strict=True):
        assert tuple(field.name for field in sent.fields) == kind.__struct_fields__
        assert sent.meaning
        assert all(field.type in TYPES.values() for field in sent.fields)


@pytest.mark.parametrize(("column", "mode"), [(1, "open"), (2, "sealed")])
def test_the_numbers_on_the_page_are_those_of_the_default_terms(column: int, mode: Literal["open", "sealed"]) -> None:
    """Each cell of the table of what the noise is worth, computed from the server's defaults."""
    text = (DOCS / "privacy.md").read_text(encoding="utf-8")
    table = text.partition("| default terms, delta 1e-5 |")[2].partition("\n\n")[0].splitlines()[2:]
    terms = terms_of(
        ServerSettings(method=MethodSection(mode=mode)), "group", features=NAMES, manifest_hash=MANIFEST_HASH
    )
    protection = protection_of(terms)
    caps, privacy, query, whole = protection.caps, protection.mechanism, protection.mu_query, protection.mu_device
    assert caps is not None
    assert query is not None
    assert whole is not None
    assert isinstance(privacy, Gaussian)
    page = mu_of(caps.page("replace"), noise=privacy.clip * privacy.noise_multiplier)

    def epsilon(mu: float) -> str:
        return at_most(gaussian_epsilon(mu, 1e-5))

    def years(n: int, neighbours: str = "zero-out") -> str:
        return at_most(protection.epsilon(1e-5, neighbours, n_rounds=n * terms.n_rounds))

    assert [row.split(" | ")[column].removesuffix(" |") for row in table] == [
        f"{years(1)} / {years(1, 'replace')}",
        f"{years(2)}, {years(5)}, {years(10)}",
        epsilon(query),
        f"{share(best_auc(query))}; {per_cent(best_guess(query))}",
        f"{epsilon(page)}; {share(best_auc(page))}",
        share(best_auc(whole)),
    ]
