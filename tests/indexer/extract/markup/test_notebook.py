"""Notebooks made by hand."""

from __future__ import annotations

import json

import pytest

from indexer.errors import ExtractionError


def test_a_notebook_gives_cells_and_text_output(single) -> None:
    """Sources and printed output are text, pictures are not; the first heading is the title."""
    cells = [
        {"cell_type": "markdown", "source": ["# My *analysis*\n", "words ![](data:image/png;base64,zebrapng)"]},
        {
            "cell_type": "code",
            "source": "print(zebra)",
            "outputs": [
                {"output_type": "stream", "text": ["printed\n"]},
                {"data": {"text/plain": "result", "image/png": "iVBORzebrapng"}},
                {"ename": "ValueError", "evalue": "wrong", "traceback": []},
            ],
        },
    ]
    document = single("a.ipynb", json.dumps({"cells": cells, "nbformat": 4}))
    assert (document.title, document.type) == ("My analysis", "notebook")
    for word in ("words", "print(zebra)", "printed", "result", "ValueError wrong"):
        assert word in document.text
    assert "zebrapng" not in document.text


@pytest.mark.parametrize("data", ["", "[]", "{", '"x"', "{}{}"])
def test_what_is_no_notebook_is_malformed(extract, data: str) -> None:
    """Broken JSON, and JSON that is no object, is one failure."""
    with pytest.raises(ExtractionError) as failure:
        extract("a.ipynb", data)
    assert failure.value.kind == "malformed"


@pytest.mark.parametrize("cells", [None, 3, [3, None, {"source": 5, "outputs": {}}], [{"outputs": [{"data": 3}]}]])
def test_odd_cells_are_passed_over(single, cells: object) -> None:
    """A notebook of unexpected shape gives what text it has."""
    assert single("a.ipynb", json.dumps({"cells": cells})).text.strip() == ""
