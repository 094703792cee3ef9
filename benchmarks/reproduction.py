"""The rows that come with the program, and the tables of docs/reproduction.md that are made of them.

    python -m benchmarks reproduction --data DIR --run PRESET ...    run presets in full and keep their rows
    python -m benchmarks reproduction --data DIR --keep PRESET=RUN   keep the rows of a run that is there
    python -m benchmarks reproduction --write-page                   make the tables anew, of whatever is kept

The rows are in simulation/shipped/PAPER/TABLE.jsonl. On the page the tables are between two marks, after the names of
presets that the page mentions and whose rows are missing or of another build.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.running import Option, arguments
from benchmarks.tables import Table
from simulation.cells.preset_tables import named_preset, preset_names
from simulation.environment import NUMBERS
from simulation.report.report import make_report
from simulation.report.result_tables import paper_grid, result_grid, retraining_grid
from simulation.report.terminal import Grid
from simulation.verification import ShippedStudy, read_shipped, ship, shipped_files

PAGE = Path(__file__).parents[1] / "docs" / "reproduction.md"
BEGIN, END = "<!-- made of rows -->", "<!-- end of what is made of rows -->"
MOST_LINES = 36
"""of a table of results that stands beside no paper"""
WHOLE_RUN = ("offline_ndcg", "cumulative_ndcg", "worst_ndcg")
"""metrics that judge a defence: users live through every round, and the last ranker shows none of them"""


def page(text: str) -> str:
    """The page with what stands between the marks made anew."""
    before, _, rest = text.partition(f"{BEGIN}\n")
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", *_made(f"{before}{after}"), f"{END}{after}"])


def _made(by_hand: str) -> Iterator[str]:
    """The lines between the marks."""
    studies = [(study, path) for path in shipped_files() for study in [read_shipped(path)[0]]]
    current = {study.preset for study, _ in studies if study.numbers == NUMBERS}
    yield f"Presets whose rows come with the program: {len(current)}. Results on this page from earlier builds:"
    yield ""
    yield from _wrapped(name for name in _named(by_hand) if name not in current)
    for study, path in studies:
        if study.preset in current:
            yield from ("", f"### `{study.preset}`", "", *_table(study, path))


def _named(text: str) -> list[str]:
    """The presets that a text speaks of; `PAPER/figure-*` are all that begin so."""
    words = re.findall(r"`([\w.-]+/[\w.*-]+)`", text)
    return [name for name in preset_names() if any(fnmatch(name, word) for word in words)]


def _wrapped(names: Iterator[str], width: int = 118) -> Iterator[str]:
    line = ""
    for name in names:
        if len(line) + len(name) + 4 > width:
            yield line.rstrip()
            line = ""
        line += f"`{name}`, "
    yield line.rstrip(", ") + "."


def _table(study: ShippedStudy, path: Path) -> Iterator[str]:
    """The numbers beside the paper's, or where it has none the results of the metric that it reports first."""
    preset = named_preset(study.preset)
    rows = [row for cell in read_shipped(path)[1] for row in cell.whole()]
    report = make_report(rows, expected=preset.expect.values, k=preset.data.k, folds={row.fold for row in rows})
    grid = paper_grid(report) if report.verdicts else result_grid(report, _metrics(report.metrics))
    cells = len({row.cell for row in rows})
    yield f"{preset.paper.title or study.preset}: {cells} cells, {', '.join(sorted({*map(_set, study.data)}))}."
    yield from ("", " ".join(preset.notes), "") if preset.notes else ("",)
    yield from _below(grid, whole=bool(report.verdicts))
    if report.forgotten:
        yield from ("", "Against retraining, offline nDCG@10, the mean of the folds, paired by seed:", "")
        yield from _below(retraining_grid(report), whole=True)


def _below(grid: Grid, *, whole: bool) -> Iterator[str]:
    """The grid, at most MOST_LINES of it where it is not `whole`, and its notes."""
    table = Table(tuple(grid.header))
    for row in grid.rows if whole else grid.rows[:MOST_LINES]:
        table.add(*row)
    yield from table.markdown()
    if not whole and len(grid.rows) > MOST_LINES:
        yield f"and {len(grid.rows) - MOST_LINES} lines more."
    yield from ("", f"{'; '.join(grid.notes)}.") if grid.notes else ()


def _metrics(measured: tuple[str, ...]) -> list[str]:
    """Those of a table: the first two, the choice of alpha, and of the whole run; of a defence all of the whole run."""
    if {"guard_alert", *WHOLE_RUN} <= {*measured}:
        return [*WHOLE_RUN]
    return [*measured[:2], *(metric for metric in measured[2:] if metric in ("cumulative_ndcg", "chosen_alpha"))]


def _set(file: str) -> str:
    return file.partition("/")[0]


def run_and_keep(name: str, data: Path | None, jobs: int) -> None:
    """Run the preset in a folder of its own, then keep its rows."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        command = [sys.executable, "-m", "simulation", "--preset", name, "--out", str(folder), "--jobs", str(jobs)]
        subprocess.run([*command, *(["--data", str(data)] if data else [])], stdout=subprocess.DEVNULL, check=True)
        print(f"{name}: kept in {ship(name, folder, data).relative_to(PAGE.parents[1])}")


def main() -> None:
    """Keep rows, write the page."""
    options = arguments(
        __doc__,
        data=None,
        run=Option(("",), "presets to be run"),
        keep=Option(("",), "PRESET=RUN"),
        jobs=1,
        write_page=False,
    )
    for name in filter(None, options.run):
        run_and_keep(name, options.data, options.jobs)
    for text in filter(None, options.keep):
        name, _, folder = text.partition("=")
        print(f"{name}: kept in {ship(name, Path(folder), options.data).relative_to(PAGE.parents[1])}")
    if options.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
