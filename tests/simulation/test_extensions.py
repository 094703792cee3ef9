"""What strangers bring in a file of their own, or in an installed package."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from simulation.cli import main
from simulation.errors import PresetError
from simulation.extensions import REGISTRIES, load
from simulation.run_folder import read_run

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
FEW = ["--rounds", "3", "--folds", "1", "--jobs", "1"]

RULE = """
from simulation import RuleSettings

class Last(RuleSettings, frozen=True, tag="last"):
    def combine(self, rows, weights=None):
        return rows[{row}]

RULES = {{"last": Last}}
"""

ATTACK = """
from simulation import AttackSettings

class Own(AttackSettings, frozen=True, tag="own"):
    def {verb}(self, scene):
        return -scene.own

ATTACKS = {{"own": Own}}
"""

STEP = """
from dataclasses import dataclass
from simulation import StepMethod

@dataclass(frozen=True, slots=True)
class Own(StepMethod):
    "A method."
"""


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer than the rest."""
    monkeypatch.setattr("simulation.report.plots.write_plots", lambda *arguments, **options: [])


def command_of(example: Path) -> list[str]:
    """The command that stands at the head of an example."""
    (line,) = re.findall(r"^foltr-search --simulate ((?:.*\\\n)*.*)$", example.read_text(), flags=re.MULTILINE)
    return shlex.split(line.replace("\\\n", " "))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_as_it_says(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its command ends well, what it brings ran, and --list shows it."""
    monkeypatch.chdir(example.parents[1])
    words = command_of(example)
    brings = re.findall(r'^[A-Z_]+ = \{"([\w-]+)": \w+\}$', example.read_text(), flags=re.MULTILINE)
    assert main([*words, *FEW, "--out", str(tmp_path / "run")]) == 0
    assert {row.round for row in read_run(tmp_path / "run").rows} == {0, 1, 2, 3}
    assert all(f'"{name}"' in (tmp_path / "run" / "preset.toml").read_text() for name in brings)


def test_what_is_brought_is_listed_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule refuses a single client, a partition more clients than queries, before anything runs; --list has both."""
    in_order, midrange = (["--with", str(path)] for path in EXAMPLES if path.stem in ("in_order", "midrange"))
    out = ["--out", str(tmp_path / "out")]
    assert main(["sample", *midrange, "--aggregation", "midrange", "--clients", "1", *out]) == 2
    assert "federation.aggregation: midrange needs at least 2 clients, not 1" in capsys.readouterr().err
    assert main(["sample", *in_order, "--set", "federation.partition.kind=in-order", "--clients", "50", *out]) == 2
    assert "federation.partition: wanted a query for each of 50 clients, got 40" in capsys.readouterr().err
    assert main(["--list", *in_order, *midrange]) == 0
    assert {"in-order", "midrange"} <= set(capsys.readouterr().out.split())


def test_a_run_does_not_go_on_with_other_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The digest of the file stands beside those of the data; a file that changed is read anew."""
    own, out = tmp_path / "last.py", ["--out", str(tmp_path / "run")]
    own.write_text(RULE.format(row=-1))
    assert main(["sample", "--with", str(own), "--aggregation", "last", *FEW, *out]) == 0
    assert main(["--resume", *out]) == 0
    own.write_text(RULE.format(row=0))
    assert main(["--resume", *out]) == 2
    assert "it was begun with last.py = " in capsys.readouterr().err


def test_files_of_one_name_are_each_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two called last.py a change of the first is noticed as well."""
    own = [tmp_path / folder / "last.py" for folder in ("a", "b")]
    for file, tag in zip(own, ("last", "other"), strict=True):
        file.parent.mkdir()
        file.write_text(RULE.format(row=-1).replace('"last"', f'"{tag}"'))
    words = [word for file in own for word in ("--with", str(file))]
    out = ["--out", str(tmp_path / "run")]
    assert main(["sample", *words, "--aggregation", "last", *FEW, *out]) == 0
    own[0].write_text(RULE.format(row=0))
    assert main(["--resume", *out]) == 2
    assert "it was begun with last.py = " in capsys.readouterr().err


def test_a_preset_names_files_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From whatever folder it is run, and gone on with."""
    (tmp_path / "last.py").write_text(RULE.format(row=-1))
    (tmp_path / "own.toml").write_text(
        'with = ["last.py"]\ndata = { dataset = "sample" }\nmethod = { name = "fpdgd" }\n'
        'federation = { aggregation = { rule = "last" } }\n'
    )
    monkeypatch.chdir(EXAMPLES[0].parent)
    out = ["--out", str(tmp_path / "run")]
    assert main(["--preset", str(tmp_path / "own.toml"), *FEW, *out]) == 0
    monkeypatch.chdir(tmp_path.parent)
    assert main(["--resume", *out]) == 0


def test_a_file_is_one_however_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a path from here, and by the whole path that a cell has."""
    monkeypatch.chdir(EXAMPLES[0].parent)
    assert load(["sign_pdgd.py"]) == load([str(EXAMPLES[0].with_name("sign_pdgd.py"))]) == load(["./sign_pdgd.py"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1", "own.py brings nothing: wanted a dict called METHODS, RULES, ATTACKS"),
        ("METHODS, RULES = {}, {}", "own.py brings nothing: wanted a dict called METHODS, RULES, ATTACKS"),
        ("\nraise SystemExit(0)", "own.py, line 2: SystemExit: 0"),
        ("\nx = 1 / 0", "own.py, line 2: ZeroDivisionError: division by zero"),
        ("from simulation import StepMethods", "ImportError: cannot import name 'StepMethods'"),
        (RULE.format(row=0).replace('"last"', '"mean"'), "own.py: RULES has a 'mean' already"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path: Path, content: str, message: str) -> None:
    """Nothing is brought then."""
    before = {name: dict(registry) for name, registry in REGISTRIES.items()}
    (tmp_path / "own.py").write_text(content)
    with pytest.raises(PresetError, match=re.escape(message)):
        load([str(tmp_path / "own.py")])
    assert before == REGISTRIES


def test_a_package_brings_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module is found by the name of its entry point, and its version stands for its bytes."""
    (tmp_path / "last_rule.py").write_text(RULE.format(row=-1))
    about = tmp_path / "last_rule-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: last-rule\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text("[foltr_search.laboratory]\nlast-rule = last_rule\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load(["last-rule"]) == {"last-rule": "last-rule 1.2"}
    assert "last" in REGISTRIES["RULES"]
    with pytest.raises(
        PresetError, match="no file 'first-rule', and no installed package brings it; installed are last-rule"
    ):
        load(["first-rule"])


@pytest.mark.parametrize(
    ("brought", "message"),
    [
        ('ATTACKS = {"five": 5}', "ATTACKS: 'five': wanted a class that inherits from AttackSettings, got 5"),
        ("METHODS = ['a']", "METHODS: wanted a dict of classes by name, got ['a']"),
        ('METHODS = {"int": int}', "METHODS: 'int': wanted a dataclass, got <class 'int'>"),
        ('MEASUREMENTS = {"five": 5}', "MEASUREMENTS: 'five': wanted a class, got 5"),
        (RULE.format(row=0).replace('{"last"', '{"final"'), "RULES: 'final': wanted a class with tag=\"final\", got"),
        (RULE.format(row=0).replace("combine", "join"), "RULES: 'last': wanted a class that defines combine, got"),
        (ATTACK.format(verb="sends"), "ATTACKS: 'own': wanted a class that defines send, got"),
    ],
)
def test_what_cannot_be_an_entry_is_refused(brought: str, message: str, tmp_path: Path) -> None:
    """At once, by the name of the dict and of the entry: no class, under another name, or without its verb."""
    (tmp_path / "odd.py").write_text(brought)
    with pytest.raises(PresetError, match=re.escape(f"with: odd.py: {message}")):
        load([str(tmp_path / "odd.py")])


def test_a_step_is_missed_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where it is a function of the object."""
    for step in ("", "    def step(self, theta, shown, clicks, wanted, numbers): ..."):
        (tmp_path / "own.py").write_text(f"{STEP}{step}\nMETHODS = {{'own': Own}}\n")
        words = ["sample", "--with", str(tmp_path / "own.py"), "--method", "own", "--out", str(tmp_path / "out")]
        assert main(words) == 2
        assert "Own: wanted a staticmethod called step" in capsys.readouterr().err


def test_a_step_of_another_shape_is_a_word_about_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not an unexpected error of the cell."""
    (tmp_path / "own.py").write_text(f"{STEP}    step = staticmethod(lambda theta: None)\nMETHODS = {{'own': Own}}\n")
    words = ["sample", "--with", str(tmp_path / "own.py"), "--method", "own", "--out", str(tmp_path / "out")]
    assert main([*words, *FEW, "--clicks", "perfect"]) == 1
    assert "cannot be compiled: Signature mismatch: 5 argument types given" in capsys.readouterr().err


def test_a_step_beyond_its_features_is_placed_where_python_runs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compiled code does not know its line, and says what does."""
    step = "    @staticmethod\n    def step(theta, shown, clicks, wanted, numbers):\n        theta[999] += 1.0\n"
    (tmp_path / "own.py").write_text(f"{STEP}{step}\nMETHODS = {{'own': Own}}\n")
    line = 1 + (STEP + step).splitlines().index("        theta[999] += 1.0")
    words = ["sample", "--with", str(tmp_path / "own.py"), "--method", "own", *FEW, "--clicks", "perfect", "--out"]
    assert main([*words, str(tmp_path / "compiled")]) == 1
    assert "Own.step: index is out of bounds; NUMBA_DISABLE_JIT=1 says at which line" in capsys.readouterr().err
    done = subprocess.run(
        [sys.executable, "-m", "simulation", *words, str(tmp_path / "python")],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f"own.py, line {line}: IndexError: index 999 is out of bounds" in done.stderr


OWN_CLICKS = """
import numpy as np
from simulation import ClickModel, Users

class Own(ClickModel, frozen=True, tag="own"):
    def users(self, *, n_grades, n_clients, k, rng):
        click, stop, looks = np.ones((1, n_grades)), np.zeros((1, n_grades)), np.ones((1, k))
        return {users}

CLICK_MODELS = {{"own": Own}}
"""
OWN_SHARES = """
from simulation import PartitionSettings, select

class Own(PartitionSettings, frozen=True, tag="own"):
    def split(self, queries, n_clients, rng):
        return {shares}

PARTITIONS = {{"own": Own}}
"""


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (OWN_CLICKS.format(users="Users(click[:, :2], stop, looks)"), "click: wanted [1, 3] or [10, 3], got [1, 2]"),
        (
            OWN_CLICKS.format(users="Users(click, stop, np.ones((3, k)))"),
            "examination: wanted [1, 10] or [10, 10]",
        ),
        (OWN_CLICKS.format(users="Users(click[0], stop, looks)"), "click: wanted [1, 3] or [10, 3], got [3]"),
        (OWN_CLICKS.format(users="Users(click, stop - 1, looks)"), "stop: wanted probabilities from 0 to 1"),
        (OWN_CLICKS.format(users="[click]"), "users.clicks: own: wanted Users, got list"),
        (OWN_SHARES.format(shares="[queries]"), "federation.partition: wanted a share for each of 10 clients, got 1"),
        (OWN_SHARES.format(shares="None"), "federation.partition: wanted a share for each of 10 clients, got NoneType"),
        (OWN_SHARES.format(shares="[select(queries, [])] * 2"), "wanted a query at least"),
        (OWN_SHARES.format(shares="[0] * n_clients"), "wanted shares that `select` makes, got int"),
        (OWN_SHARES.format(shares="queries.grades.fill(0)"), "own.py, line 6: ValueError: assignment destination is"),
        (OWN_CLICKS.format(users="Users(click.tolist(), stop, looks)"), "click: wanted an array, got list"),
        (OWN_CLICKS.format(users="1 / 0"), "own.py, line 8: ZeroDivisionError: division by zero"),
    ],
)
def test_users_and_shares_that_do_not_fit_are_named(
    own: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, before anything runs: tables of another shape, what is no probability, clients without a share."""
    (tmp_path / "own.py").write_text(own)
    chosen = "users.clicks=own" if own.startswith(OWN_CLICKS[:30]) else "federation.partition.kind=own"
    words = ["sample", "--with", str(tmp_path / "own.py"), "--out", str(tmp_path / "out"), *FEW, "--set", chosen]
    assert main(words) == 2
    assert message in capsys.readouterr().err


FAILING = """
from dataclasses import dataclass, replace
from foltr.federated.fpdgd import FPDGD
from simulation import AttackSettings, RuleSettings, StepMethod

class Own(RuleSettings, frozen=True, tag="own"):
    def combine(self, rows, weights=None):
        {rule}

class Attack(AttackSettings, frozen=True, tag="own"):
    def send(self, scene):
        {attack}

def step(theta, shown, clicks, wanted, numbers):
    {step}

@dataclass(frozen=True, slots=True)
class Stepping(StepMethod):
    "By a step."
    step = staticmethod(step)

@dataclass(frozen=True, slots=True)
class Learning(FPDGD):
    "By verbs."

    def learn(self, local, interaction, query=b""):
        {learn}

METHODS, RULES, ATTACKS = {{"stepping": Stepping, "learning": Learning}}, {{"own": Own}}, {{"own": Attack}}
"""
SOUND = {"rule": "return rows[0]", "attack": "return None", "step": "pass", "learn": "return local"}
BY_RULE, BY_ATTACK = "federation.aggregation.rule=own", "federation.attack.attack=own"
BY_STEP, BY_VERBS = "method.name=stepping", "method.name=learning"


@pytest.mark.parametrize(
    ("wrong", "chosen", "message"),
    [
        ({"rule": "return {}[rows.shape]"}, BY_RULE, "own.py, line 8: KeyError: (10, 46)"),
        ({"rule": "raise SystemExit(3)"}, BY_RULE, "own.py, line 8: SystemExit: 3"),
        ({"rule": "rows.sum()"}, BY_RULE, "own must give [46], not []"),
        ({"attack": "scene.start[:] = 0"}, BY_ATTACK, "own.py, line 12: ValueError: assignment destination is"),
        ({"attack": "scene.benign[:] = 0"}, BY_ATTACK, "own.py, line 12: ValueError: assignment destination is"),
        ({"learn": "local.theta[:] = 0"}, BY_VERBS, "own.py, line 27: ValueError: assignment destination is"),
        ({"learn": "local"}, BY_VERBS, "Learning.learn: wanted the device after a page, got None"),
        ({"step": "if clicks.sum() > 0: raise ValueError(1)"}, BY_STEP, "Stepping.step failed on a page"),
        ({"step": "theta[len(theta) + int(clicks.sum() * 1e7)] = 1"}, BY_STEP, "Stepping.step: index is out of"),
        ({"step": "if clicks.sum() > 0: theta[2 ** 40] = 1"}, BY_STEP, "Stepping.step failed on a page"),
    ],
)
def test_what_fails_in_a_round_is_placed(
    wrong: dict[str, str], chosen: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line with file and line where a file has it: no rows are made of an error that nobody heard."""
    (tmp_path / "own.py").write_text(FAILING.format(**{**SOUND, **wrong}))
    words = ["sample", "--with", str(tmp_path / "own.py"), "--out", str(tmp_path / "out"), *FEW, "--set", chosen]
    assert main([*words, "--clicks", "perfect", "--set", f"federation.malicious={2 * (chosen == BY_ATTACK)}"]) == 1
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "failed: fold=1" in line)
    assert message in line


KEEPING = """
import random
import numpy as np
from simulation import RuleSettings

met = []

class Keeping(RuleSettings, frozen=True, tag="keeping"):
    def combine(self, rows, weights=None):
        met.append(1)
        return rows.mean(axis=0) * len(met) + np.random.normal(0, 0.01) + random.random() / 100

RULES = {"keeping": Keeping}
"""


def test_rows_do_not_depend_on_the_cells_before(tmp_path: Path) -> None:
    """Whatever a file keeps, and though it draws from the generators that all share; they go on as they would have."""
    (tmp_path / "own.py").write_text(KEEPING)
    words = ["sample", "--with", str(tmp_path / "own.py"), "--aggregation", "keeping", *FEW, "--clicks", "perfect"]
    before = np.random.get_state()[1].tolist()
    for name, seeds in (("alone", "2,1"), ("after", "1,2")):
        assert main([*words, "--seeds", seeds, "--out", str(tmp_path / name)]) == 0
    assert np.random.get_state()[1].tolist() == before
    alone, after = (
        [msgspec.structs.replace(row, seconds=0.0) for row in read_run(tmp_path / name).rows if row.seed == 2]
        for name in ("alone", "after")
    )
    assert alone == after
