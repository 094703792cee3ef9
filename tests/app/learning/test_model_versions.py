"""Models on the disk: versions by day, files, other manifests, damage."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from app.learning import model_versions
from app.learning.votes import Votes
from app.store import Store
from foltr.errors import ModelError
from tests.app.learning.learners import DAY, NOW, THETA0, learner, pages, prefer_recent


def test_reset_to_the_prior_and_to_any_day_of_the_last_month(store: Store) -> None:
    """Each day can be gone back to as it ended; days without learning are as the day before; older ones are gone."""
    device, votes = learner(store), {}
    today = date.fromtimestamp(NOW)
    for back in (40, 35, 20, 5, 0):
        prefer_recent(device, 2, now=NOW - back * DAY)
        votes[back] = device.model.votes
    assert device.days(now=NOW) == tuple(today - timedelta(days=d) for d in (20, 5, 0))
    for back, expected in ((5, 5), (6, 20), (20, 20), (31, 35), (0, 0)):
        with Store(store.path) as copy:
            stored = model_versions.as_of(copy, "linear", day=today - timedelta(days=back), today=today)
            assert stored is not None
            assert stored.votes == votes[expected]
    prefer_recent(device, 1, now=NOW + 5 * DAY)  # the clock was ahead for a while
    assert device.days(now=NOW) == tuple(today - timedelta(days=d) for d in (20, 5, 0))
    device.reset(today - timedelta(days=6), now=NOW)
    assert device.model.votes == votes[20]
    device.reset(now=NOW)
    assert device.model.votes == Votes()
    assert device.model.n_pages == 0
    for bad in (today + timedelta(days=1), today - timedelta(days=32)):
        with pytest.raises(ModelError, match="versions are kept from 2026-04-19 to 2026-05-20"):
            device.reset(bad, now=NOW)


def test_a_day_before_all_learning_is_the_prior(store: Store) -> None:
    """Going back to before the first lesson gives the shipped ranker."""
    device = learner(store)
    prefer_recent(device, 2)
    device.reset(date.fromtimestamp(NOW) - timedelta(days=3), now=NOW)
    assert device.model.votes == Votes()


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_export_and_import(store: Store, tmp_path: Path, ranker: str) -> None:
    """A model goes to another device unchanged, digit by digit: weights, and what is liked but for folders."""
    device = learner(store, ranker=ranker)
    prefer_recent(device, 5)
    for i in range(10):
        marks = [("pdf", "folder 3f")] + [("html", "folder 40")] * 4
        device.learn(np.full((5, 4), 0.5), range(5), np.arange(5) == 0, query=b"q%d" % i, marks=marks, now=NOW)
    model_versions.export_model(device.model, tmp_path / "model.json")
    with Store(tmp_path / "other.sqlite") as elsewhere:
        other = learner(elsewhere, ranker=ranker)
        other.import_file(tmp_path / "model.json", now=NOW)
        assert other.model.theta.tolist() == device.model.theta.tolist()
        assert other.model.n_picks == 15
        liking = {name: own for name, own in device.habits.liking.items() if not name.startswith("folder")}
        assert other.habits.liking == pytest.approx(liking)
        assert ("pdf" in liking) is (ranker == "linear")
    assert b"folder 3f" not in (tmp_path / "model.json").read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('"version": 1', '"version": 7', "version 7"),
        ('"foltr-search model"', '"something else"', "something else"),
        ('"linear"', '"forest"', "there are linear, neural"),
        ('"theta": [', '"theta": [1.0,', "5 numbers, not 4"),
        ('"theta": [', '"theta": [1e300,', "5 numbers, not 4"),
        ('"prior": [\n  3.0', '"prior": [\n  3e30', "beyond 1e.06"),
        ('"n_pages"', '"surprise": 1, "n_pages"', "surprise"),
        ('"title"', '"body"', "named twice"),
        ('"new": [\n      0.', '"new": [\n      1e90, 0.1], "pdf": [0.', "Expected `float` <= 1000000"),
        ('"recent": [\n', '"recent": [[null, 1, {"pdf": [1.0, -1.0]}],\n', "Expected `bytes`"),
        ('"recent": [\n', '"recent": [["", 1, {"pdf": [1.0, -1.0]}],\n', "Expected `float` >= 0.0"),
        ("{", "not json {", "no model"),
    ],
)
def test_files_that_are_no_model_are_refused(store: Store, tmp_path: Path, old: str, new: str, match: str) -> None:
    """Each fault of an imported file is named, and the present model stays."""
    device, path = learner(store), tmp_path / "model.json"
    prefer_recent(device, 1)
    model_versions.export_model(device.model, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    before = model_versions.to_record(device.model)
    with pytest.raises(ModelError, match=match):
        device.import_file(path)
    assert model_versions.to_record(device.model) == before


def test_a_file_without_an_end_is_no_model(store: Store) -> None:
    """It is read no further than a model goes."""
    with pytest.raises(ModelError, match="cannot read /dev/zero: it has more than 4,000,000 bytes"):
        learner(store).import_file(Path("/dev/zero"))


def test_a_model_of_other_features_needs_consent(store: Store, tmp_path: Path) -> None:
    """Another manifest is an error that says how much could be kept; by name, known weights come over."""
    path = tmp_path / "model.json"
    device = learner(store, ranker="neural")
    prefer_recent(device, 5)
    model_versions.export_model(device.model, path)
    names = ("recent_year", "pages", "title")
    with Store(tmp_path / "other.sqlite") as elsewhere:
        other = learner(elsewhere, names=names, theta0=np.array([0.5, 1.0, 3.0]), ranker="neural")
        with pytest.raises(ModelError, match="keep 2 of 4 weights"):
            other.import_file(path)
        other.import_file(path, by_name=True, now=NOW)
        features, wider = np.array([[0.5, 0.0, 0.2, 0.0]]), np.array([[0.2, 0.9, 0.5]])
        np.testing.assert_allclose(other.model.learned(wider), device.model.learned(features), atol=1e-12)
    with pytest.raises(ModelError, match="cannot read"):
        device.import_file(tmp_path / "missing.json")
    with pytest.raises(ModelError, match=r"setting learning\.ranker"):
        learner(store).import_file(path)


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_learning_survives_an_upgrade_of_the_manifest(store: Store, ranker: str) -> None:
    """With features added, moved and dropped, what was learned about the others moves documents as before."""
    prefer_recent(learner(store, ranker=ranker), 30)
    names = ("fresh", "folder_share", "recent_year", "title", "body", "newer")
    theta0 = np.array([9.0, -0.5, 0.5, 3.0, 2.0, 1.0])
    old, grown = learner(store, ranker=ranker), learner(store, ranker=ranker, names=names, theta0=theta0)
    features = pages(1)[0]
    wider = np.column_stack([np.ones(20), features[:, [3, 2, 0, 1]], np.zeros(20)])
    np.testing.assert_allclose(
        grown.scores(wider) - wider @ theta0, old.scores(features) - features @ THETA0, atol=1e-12
    )
    assert grown.learn(wider, [0, 1, 2], [False, True, False], now=NOW) is not None
    assert grown.model.feature_names == names


def test_a_damaged_model_is_named_and_can_be_reset(store: Store) -> None:
    """An unreadable model is an error that says how to start afresh, and that way works."""
    prefer_recent(learner(store), 1)
    with store.transaction() as db:
        db.execute("UPDATE models SET record = x'00', revision = x'01'")
    with pytest.raises(ModelError, match="model reset"):
        learner(store).scores(pages(1)[0])
    learner(store).reset(now=NOW)
    learner(store).scores(pages(1)[0])


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_a_model_that_nobody_changed_is_not_read_again(store: Store, ranker: str) -> None:
    """Between two lessons, of whichever process, the same object answers."""
    device = learner(store, ranker=ranker)
    assert device.model is device.model
    prefer_recent(device, 1)
    kept = device.model
    device.scores(pages(1)[0])
    assert device.model is kept
    with Store(store.path) as elsewhere:
        prefer_recent(learner(elsewhere, ranker=ranker), 1)
    assert device.model is not kept
    assert device.model is device.model


def test_an_imported_model_is_a_version_of_its_day(store: Store, tmp_path: Path) -> None:
    """Of the time that is given, or of today: one can go back to it like to a day of learning."""
    device = learner(store)
    prefer_recent(device, 1)
    model_versions.export_model(device.model, tmp_path / "model.json")
    with Store(tmp_path / "other.sqlite") as elsewhere:
        other = learner(elsewhere)
        other.import_file(tmp_path / "model.json", now=NOW - DAY)
        assert other.days(now=NOW) == (date.fromtimestamp(NOW - DAY),)
    with Store(tmp_path / "third.sqlite") as elsewhere:
        third = learner(elsewhere)
        before = date.today()
        third.import_file(tmp_path / "model.json")
        assert before <= third.days()[0] <= date.today()
