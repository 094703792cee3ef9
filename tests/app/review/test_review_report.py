from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path

import pytest

from app.review.judgements import ReviewError
from app.review.review_report import account_of, as_csv, as_markdown, write_account
from tests.app.conftest import Device
from tests.app.review.conftest import Open
from tests.app.review.test_review import read_all


def test_an_account_says_all_and_agrees_in_its_forms(device: Device, opened: Open, tmp_path: Path) -> None:
    """The query, what was searched, read, judged with a hash that anyone can recompute, and not readable."""
    (device.notes / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    device.index()
    review = opened("fish")
    read_all(review)
    for ending in (".md", ".csv", ".json"):
        write_account(review, tmp_path / f"account{ending}", now=1_750_000_000.0)
    account = json.loads((tmp_path / "account.json").read_text())
    assert account["asked"]["query"] == "fish"
    assert account["asked"]["reported"] == "2025-06-15T15:06:40Z"
    assert account["searched"]["folders"] == [{"path": str(device.notes)}]
    assert (account["found"]["n_read"], account["found"]["n_found"]) == (7, 4)
    assert [Path(one["path"]).name for one in account["not_readable"]] == ["broken.pdf"]
    judged = {Path(one["path"]).name: one for one in account["judged"]}
    text = (device.notes / "birds" / "list.txt").read_bytes()
    identity = b"\0".join((b"text", judged["list.txt"]["title"].encode(), text))
    assert judged["list.txt"]["blake2b_128"] == hashlib.blake2b(identity, digest_size=16).hexdigest()
    assert {one["state"] for one in judged.values()} == {"as judged"}
    rows = list(csv.DictReader(io.StringIO((tmp_path / "account.csv").read_text())))
    assert [row["path"] for row in rows if row["what"] == "judged"] == [one["path"] for one in account["judged"]]
    page = (tmp_path / "account.md").read_text()
    assert all(f"`{one['blake2b_128']}`" in page for one in judged.values())
    assert "an estimate, no guarantee" in page


def test_what_became_of_a_file_is_said(device: Device, opened: Open) -> None:
    """Moved, changed or gone, even if the index does not know it; copies are named."""
    read_all(opened())
    birds, tax = device.notes / "birds", device.notes / "tax"
    (device.notes / "copy.md").write_text((birds / "kingfisher.md").read_text())
    (birds / "heron.txt").rename(device.notes / "moved.txt")
    (birds / "list.txt").write_text("another list\n")
    (tax / "invoice.html").unlink()
    device.index()
    (tax / "return 2024.txt").unlink()
    (device.notes / "code" / "fish_counter.py").write_text("# counts no fish\n")
    account = account_of(opened(), now=0.0)
    assert (
        account["searched"]["n_documents"] == account["searched"]["n_documents_in_index"] - 1 == 5
    )  # without the copy
    judged = {Path(one["path"]).name: one for one in account["judged"]}
    assert {name: one["state"] for name, one in judged.items()} == {
        "heron.txt": "moved", "list.txt": "changed since", "invoice.html": "gone",
        "return 2024.txt": "gone since it was indexed", "kingfisher.md": "as judged",
        "fish_counter.py": "changed since it was indexed",
    }  # fmt: skip
    assert judged["heron.txt"]["also_at"] == [{"path": str(device.notes / "moved.txt")}]
    assert judged["kingfisher.md"]["also_at"] == [{"path": str(device.notes / "copy.md")}]


def test_names_of_files_are_no_formulas_marks_or_lines(device: Device, opened: Open) -> None:
    """No file name has an effect in a spreadsheet, on a page or in a terminal."""
    (device.notes / "=cmd|' '!A1.md").write_text("# =HYPERLINK(1) <script> | [x](y)\n\nfish\n")
    (device.notes / "two\nlines\x1b[31m.md").write_text("# -1\n\nfish\n")
    (device.notes / "wide.md").write_text("# ＝1+1\n\nfish\n")
    device.index()
    review = opened()
    read_all(review)
    account = account_of(review, now=0.0)
    cells = [cell for row in csv.reader(io.StringIO(as_csv(account))) for cell in row]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert any(cell.startswith("'=HYPERLINK") for cell in cells)
    assert "'＝1+1" in cells  # as spreadsheets in the east of Asia have it
    page = as_markdown(account)
    assert "\x1b" not in page
    assert "\\|" in page
    rows = [line for line in page.splitlines() if line.startswith(("| yes", "| no"))]
    assert len(rows) == len(account["judged"])


def test_another_ending_is_refused(opened: Open, tmp_path: Path) -> None:
    """Nothing is written."""
    with pytest.raises(ReviewError, match=r"wanted a name that ends in \.md, \.csv, \.json, got \.doc"):
        write_account(opened(), tmp_path / "account.doc", now=0.0)
    assert not (tmp_path / "account.doc").exists()
