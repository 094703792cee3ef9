"""The laboratory's command line: `foltr-search --simulate DATASET`, or `python -m simulation DATASET`.

Exit codes: 0 every cell ran, 1 some cells failed (the others are kept), 2 an error before anything ran (one line on
stderr; FOLTR_DEBUG=1 shows the traceback), 130 interrupted. Whatever computes is imported inside the functions, so that
`--help` and `--list` answer at once.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.command_line import CommandWithExamples, heard_interrupts, run
from console.durable import what_failed
from console.extras import how_to_add
from foltr.errors import FoltrError
from simulation import THREAD_VARIABLES
from simulation.errors import PresetError

if TYPE_CHECKING:
    from simulation.cells.preset import Preset

PROGRAM = "foltr-search --simulate"

DEFAULT_PRESET = "quick/fpdgd"

EXTRA = ("numba", "scipy", "matplotlib", "rich")
"""what the extra `simulation` brings"""

KEYS = {
    "method": "method.name",
    "ranker": "method.ranker",
    "hidden": "method.hidden",
    "learning_rate": "method.learning_rate",
    "clicks": "users.clicks",
    "clients": "federation.clients",
    "local": "federation.local",
    "rounds": "federation.rounds",
    "evaluate_every": "federation.evaluate_every",
}
"""options that stand for one key of a preset"""

EXAMPLES = """
foltr-search --simulate mq2008     FPDGD, three kinds of users, all folds
foltr-search --simulate mslr       if you lack the data, on made-up data
foltr-search --simulate --list     data sets, methods and presets
foltr-search --simulate mq2008 --method fpdgd,foltr-es --seeds 5 --jobs 4
foltr-search --simulate mslr --privacy gaussian:clip=1,noise_multiplier=2
foltr-search --simulate mq2008 --set method.learning_rate=.01,.1 --rounds 200
foltr-search --simulate --preset quick/fpdgd --out run
foltr-search --simulate --preset quick/fpdgd --out run --resume
foltr-search --simulate --verify reproduction --sample 50
foltr-search --simulate sample --with my_method.py --method my-method,fpdgd
foltr-search --simulate --submit my_method.py
"""


TYPED = "simulation.typed"
"""where the context keeps the words of the command line"""


class _Study(CommandWithExamples):
    """Remembers what was typed, for the records of the study."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[TYPED] = [*ctx.command_path.split(), *args]
        return super().parse_args(ctx, args)


@click.command(cls=_Study, examples=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("dataset", required=False)
@click.option(
    "--data", "folder", metavar="DIR", help="Folder of data sets; default: $FOLTR_DATASETS, then simulation.toml."
)
@click.option("--preset", metavar="PAPER/TABLE", help=f"A preset by name or path; default: {DEFAULT_PRESET}.")
@click.option("--method", metavar="NAME,...", help="Learning methods, as --list shows them.")
@click.option("--ranker", metavar="linear|neural", help="The kind of ranker to learn.")
@click.option("--hidden", metavar="N", help="Hidden units of the neural ranker.")
@click.option("--clicks", metavar="MODEL,...", help="Users: perfect, navigational, informational, poison, pbm, fedips.")
@click.option("--clients", metavar="N", help="Number of clients.")
@click.option("--local", metavar="N", help="Interactions per client and round.")
@click.option("--rounds", metavar="N", help="Number of rounds.")
@click.option("--learning-rate", metavar="RATE", help="The method's learning rate.")
@click.option("--aggregation", metavar="RULE,...|RULE:KEY=VALUE,...", help="The server's aggregation rule.")
@click.option("--privacy", metavar="MECHANISM:KEY=VALUE,...", multiple=True, help="The privacy mechanism.")
@click.option("--set", "assignments", metavar="KEY=VALUE", multiple=True, help="Any preset key; see docs/presets.md.")
@click.option("--folds", metavar="1,2|1-5|all", help="Folds of the data set.")
@click.option("--seeds", metavar="N|1,7", help="Number of seeds (3 means 1, 2 and 3), or a list of them.")
@click.option("--evaluate-every", metavar="ROUNDS", help="Rounds between two rows of results; 0 gives twenty rows.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Cells to run at a time; default: one per core.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", help="Run here, or on Ray.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder for the results; default: a new one here."
)
@click.option("--resume", is_flag=True, help="Continue the run in --out; finished cells are not run again.")
@click.option("--pictures", metavar="METRIC,...|all", help="Metrics to plot; default: those of the paper.")
@click.option("--verify", metavar="DIR|reproduction", help="Run finished cells again and compare their rows.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Verify N cells drawn at random; default: all.")
@click.option(
    "--with", "with_", multiple=True, metavar="FILE", help="Add methods, attacks and more from a file or package."
)
@click.option("--submit", metavar="FILE", help="Run the method in FILE through the leaderboard's trials.")
@click.option("--list", "listing", is_flag=True, help="List data sets, methods, rules, attacks and presets.")
def command(dataset: str | None, listing: bool, **options: Any) -> int:
    """Simulate federated online learning to rank on DATASET: a name from --list, or a folder in LETOR's format.

    Options override the preset's keys. If several values are given, separated by commas, each is tried, in every
    combination with the others. Without options a quick study runs: FPDGD, three kinds of users, all folds.
    """
    with heard_interrupts():
        return _carried_out(dataset, listing, options)


def _carried_out(dataset: str | None, listing: bool, options: dict[str, Any]) -> int:
    """What the options ask for; the exit code."""
    from simulation.data.known_datasets import data_folder

    root = data_folder(options["folder"], os.environ)
    if listing:
        from simulation.extensions import load
        from simulation.listing import UNBROKEN, catalogue

        load(options["with_"])
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNBROKEN
        click.echo(catalogue(root, width=width))
        return 0
    if options["verify"]:
        _need_extra()
        from simulation.verification import verify

        return verify(options["verify"], root=root, sample=options["sample"], say=click.echo)
    if options["submit"] is not None:
        _need_extra()
        from simulation.leaderboard import submit

        return submit(options["submit"], dataset, root=root, jobs=options["jobs"])
    from simulation.cells.preset_tables import with_stand_in

    preset = with_stand_in(_preset(dataset, options), root, insist=options["folder"] is not None)
    _need_extra()
    pictures = _pictures(options["pictures"])
    from simulation.study import run_study

    dataset = Path(preset.data.dataset).name
    folder = options["out"] or Path(f"foltr-{dataset}-{datetime.now():%Y%m%d-%H%M%S-%f}")
    try:
        return run_study(
            preset, root=root, folder=folder, resume=options["resume"], jobs=options["jobs"], engine=options["engine"],
            command=click.get_current_context().meta[TYPED], again=_again(folder, options), pictures=pictures,
        )  # fmt: skip
    except PresetError as error:
        if options["preset"] is None:
            raise
        raise PresetError(f"{options['preset']}: {error}") from error


def _preset(dataset: str | None, options: dict[str, Any]) -> Preset:
    """The preset with the options in place; with --resume and nothing else, what runs in --out."""
    from simulation.cells.preset import decode_preset
    from simulation.cells.preset_tables import load_tables, overridden

    overrides = _overrides(dataset, options)
    if options["resume"] and options["out"] is None:
        raise click.UsageError("--resume needs --out DIR, the folder to continue", click.get_current_context())
    if options["resume"] and dataset is None and options["preset"] is None:
        from simulation.cells.preset import preset_tables
        from simulation.experiment import stored_preset

        tables = preset_tables(stored_preset(options["out"]))
        return decode_preset(overridden(tables, overrides), source=str(options["out"]))
    if dataset is None and options["preset"] is None:
        raise click.UsageError("wanted a DATASET or --preset; --list shows all", click.get_current_context())
    name = options["preset"] or DEFAULT_PRESET
    tables = load_tables(name)
    if options["preset"] is None:
        del tables["paper"]  # settings to begin with, nobody's study
    return decode_preset(overridden(tables, overrides), source=name)


def _again(folder: Path, options: dict[str, Any]) -> str:
    """The command that goes on in that folder."""
    words = [*click.get_current_context().command_path.split(), "--resume", "--out", str(folder)]
    words += ["--data", options["folder"]] if options["folder"] else []
    return shlex.join(words)


def _overrides(dataset: str | None, options: dict[str, Any]) -> dict[str, list[Any]]:
    """The options as dotted keys with their values; --set has the last word."""
    from simulation.cells.preset_tables import absolute, parse_assignment, parse_numbers, parse_tagged, parse_values

    found: dict[str, list[Any]] = {}
    if dataset is not None:
        found["data.dataset"] = [dataset]
    for option, key in KEYS.items():
        if options[option] is not None:
            found[key] = parse_values(options[option])
    if options["folds"] is not None:
        found["data.folds"] = ["all" if options["folds"] == "all" else parse_numbers(options["folds"])]
    if options["seeds"] is not None:
        seeds = parse_numbers(options["seeds"])
        found["seeds"] = [seeds[0] if options["seeds"].isdecimal() else seeds]
    if options["with_"]:
        found["with"] = [absolute(options["with_"], Path())]
    if options["privacy"]:
        found["method.privacy"] = [parse_tagged(options["privacy"], tag="mechanism")]
    if options["aggregation"] is not None:
        rule = options["aggregation"]
        settings = [parse_tagged([rule], tag="rule")] if ":" in rule else parse_values(rule)
        found["federation.aggregation" if ":" in rule else "federation.aggregation.rule"] = settings
    found.update(parse_assignment(text) for text in options["assignments"])
    return found


def _pictures(text: str | None) -> list[str]:
    """The metrics to draw; [] where nobody said which."""
    from simulation.report.display_names import TITLES

    asked = [*TITLES] if text == "all" else [name.strip() for name in (text or "").split(",") if name.strip()]
    if unknown := [name for name in asked if name not in TITLES]:
        raise PresetError(f"--pictures: wanted all, or some of {', '.join(TITLES)}; got {unknown[0]}")
    return asked


def _need_extra() -> None:
    missing = [name for name in EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise click.ClickException(f"the laboratory needs {', '.join(missing)}: {how_to_add('simulation')}")


def one_thread_each() -> None:
    """One thread for this process and those it starts; must come before numpy is loaded.

    Cells are what runs side by side, and a sum that several threads share has no fixed order.
    """
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))


def main(arguments: Sequence[str] | None = None, *, program: str = PROGRAM) -> int:
    """Run one command line and give its exit code."""
    one_thread_each()
    return run(command, arguments, program=program, describe=_described)


def _described(error: Exception) -> str | None:
    if isinstance(error, FoltrError):
        return " ".join(str(error).split())
    return what_failed(error) if isinstance(error, OSError) and error.strerror else None
