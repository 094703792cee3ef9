"""How long presets take: CPU seconds of each as a whole process, start and report included.

    python -m benchmarks presets --data DIR          every quick preset; the aim is ten minutes of two cores
    python -m benchmarks presets --data DIR --full   linear presets on MQ2008 at full size, one seed; an hour

A preset whose data are not in DIR runs on what stands in for them, or is named as left out. `--only TEXT` takes the
presets with that in their name; `--cold` compiles everything anew, as on a new machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import run
from benchmarks.running import arguments
from benchmarks.tables import Table, machine, verdict
from simulation.cells.cell import expand
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import load_tables, preset_names

QUICK_AIM, FULL_AIM = 2 * 600.0, 3600.0
"""CPU seconds of all together"""
MISSING = 2
"""exit code of a preset that cannot run"""
AT_MOST = 3 * 3600.0


def linear_on_mq2008(name: str) -> bool:
    """Whether it is a study of linear rankers on MQ2008 at full size."""
    cells = expand(decode_preset(load_tables(name), source=name), folds_of=lambda _: (1,))
    kinds = {(cell.preset.data.dataset, cell.method.ranker) for cell in cells}
    return not name.startswith("quick/") and kinds == {("mq2008", "linear")}


def chosen(*, full: bool, only: str) -> list[str]:
    """The names of the presets to be timed."""
    wanted = linear_on_mq2008 if full else lambda name: name.startswith("quick/")
    return [name for name in preset_names() if only in name and wanted(name)]


def seconds(name: str, data: Path, *, one_seed: bool, jobs: int) -> float | None:
    """CPU seconds of a preset with all its workers; None where it cannot run here."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "simulation", "--preset", name, "--data", str(data), "--jobs", str(jobs)]
        command += ["--out", str(Path(folder) / "run"), *(["--seeds", "1"] if one_seed else [])]
        done = run(command, {}, timeout=AT_MOST, fine=(0, MISSING))
    return None if "is not there" in done.output else done.cpu


def main() -> None:
    """CPU seconds of presets."""
    wanted = arguments(__doc__, data=None, full=False, only="", cold=False, jobs=2)
    names, table, total = chosen(full=wanted.full, only=wanted.only), Table(("preset", "CPU seconds")), 0.0
    with tempfile.TemporaryDirectory() as compiled:
        if wanted.cold:
            os.environ["NUMBA_CACHE_DIR"] = compiled
        for name in names:
            spent = seconds(name, wanted.data, one_seed=wanted.full, jobs=wanted.jobs)
            table.add(name, "not here" if spent is None else f"{spent:.1f}")
            total += spent or 0.0
            print(f"{name}: {'not here' if spent is None else f'{spent:.1f} s'}", file=sys.stderr)
    aim = FULL_AIM if wanted.full else QUICK_AIM
    table.add("all together", f"{total:.0f}")
    print(f"{table}\n\naim {aim:.0f} CPU seconds: {verdict(total <= aim)}; {machine()}")
