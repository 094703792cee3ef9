"""The commands of a group, as a user runs them, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from app.federation import membership
from app.store import Store
from federation_server.database import writing
from federation_server.group.enrolment import all_members
from foltr.federated.wire import encode
from tests.app.conftest import Device
from tests.app.federation.groups import Group, see_pages, serving


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with serving(tmp_path / "server") as made:
        yield made


def test_a_membership_from_its_first_day_to_its_last(device: Device, group: Group) -> None:
    """join, sync, federation status, privacy and forget-me do what they say; results are on stdout, words on stderr."""
    see_pages(device, 30)
    joined = device.run("join", group.link(), "--yes")
    assert joined.returncode == 0, joined.stderr
    assert joined.stdout == ""
    assert "One note reveals at most epsilon 0.93" in joined.stderr
    assert "joined the group herons" in joined.stderr
    synced = device.run("sync", "--now")
    assert synced.returncode == 0, synced.stderr
    assert "answered round 1, learned from 30 pages" in synced.stderr
    status = json.loads(device.run("federation", "status", "--json").stdout)
    assert status["group"]["name"] == "herons"
    assert status["updates"] == [{"lineage": 1, "round": 1, "state": "sent", "n_interactions": 30}]
    assert status["privacy"]["rounds"] == 1
    assert 0.92 < status["privacy"]["epsilon_zero_out"] < 0.94
    assert status["ranker"] is None, "nothing was learned yet"
    shown = device.run("federation").stdout
    assert "sent:        1 update" in shown
    assert "epsilon 0.93 of 10 spent in 1 round" in shown
    assert "epsilon 0.93 of 10 spent in 1 round" in device.run("privacy").stdout
    forgotten = device.run("forget-me", "--yes")
    assert forgotten.returncode == 0, forgotten.stderr
    assert "erased 1 update, 1 member" in forgotten.stdout
    assert "the journal of herons holds the receipt, and this device in none of 0 entries since" in forgotten.stdout
    again = json.loads(device.run("forget-me", "--json").stdout)
    assert again["receipts"][0]["erased"] == {"updates": 1, "members": 1, "roster": 1}
    after = device.run("federation", "status")
    assert after.returncode == 1
    assert "belongs to no group" in after.stderr


def test_forgetting_names_who_it_does_not_reach(device: Device, group: Group) -> None:
    """The keys of a left and of an unconfirmed membership are gone: the message says that the operator can forget
    them."""

    def join() -> str:
        assert device.run("join", group.link(), "--yes").returncode == 0
        with Store(device.data_dir / "state.sqlite") as store:
            return membership.member(store).device

    left = join()
    assert f"its operator: `foltr-server forget {left}`" in device.run("leave", "--yes").stderr
    local = join()
    assert f"its operator: `foltr-server forget {local}`" in device.run("leave", "--local", "--yes").stderr
    last = join()
    said = device.run("forget-me", "--yes").stdout
    assert [f"`foltr-server forget {one}`" in said for one in (left, local, last)] == [True, True, False]
    assert "erased nothing" not in said
    assert ": the membership ended; nothing was erased\n" in said
    assert json.loads(device.run("forget-me", "--json").stdout)["not_reached"] == sorted((left, local))
    with writing(group.made.engine) as connection:
        assert {one.device for one in all_members(connection)} == {left, local}


def test_leaving_asks_and_says_what_it_costs(device: Device, group: Group) -> None:
    """Without an answer the device stays a member; that it cannot be forgotten from here afterwards, and that others
    may miss it in a sealed round that is under way, is said before."""
    assert device.run("join", group.link(), "--yes").returncode == 0
    with Store(device.data_dir / "state.sqlite") as store:
        assert "under way" not in device.run("leave").stderr
        terms = membership.load_standing(store).agreed_terms
        assert terms is not None
        sealed = encode(msgspec.structs.replace(terms, mode="sealed"))
        membership.note_standing(store, phase="collect", round=3, terms=sealed, deadline=0)
    told = "round 3 is under way until 1970-01-01 00:00: without this device the others may be too few to add it up"
    for command in ("leave", "forget-me"):
        asked = device.run(command)
        assert asked.returncode == 130
        assert told in asked.stderr
        assert ("cannot have it forget" in asked.stderr) == (command == "leave")
    assert device.run("federation").returncode == 0
    assert told in device.run("leave", "--yes").stderr
    assert device.run("federation").returncode == 1


def test_a_search_in_a_group_explains_its_score(device: Device, group: Group) -> None:
    """With an adopted common ranker a search works, and the contributions still add up to the score."""
    device.index()
    see_pages(device, 5)
    assert device.run("join", group.link(), "--yes").returncode == 0
    hits = [json.loads(line) for line in device.run("search", "heron", "--json", "--explain").stdout.splitlines()]
    documents = [hit for hit in hits if "explanation" in hit]
    assert documents
    for hit in documents:
        parts = hit["explanation"]["contributions"]
        told = sum(part["prior"] + part["learned"] for part in parts)
        assert told == pytest.approx(hit["explanation"]["score"], abs=0.1)  # parts below 0.005 points are left out


def test_a_server_that_is_gone_is_exit_code_3(device: Device, group: Group) -> None:
    """If nobody answers, sync and leave say so in one line; leave --local ends the membership all the same."""
    assert device.run("join", group.link(), "--yes").returncode == 0
    group.stop()
    quick = ("--set", "federation.retries=0")
    for command in (("sync",), ("leave", "--yes")):
        done = device.run(*command, *quick)
        assert done.returncode == 3
        assert len(done.stderr.splitlines()) == 1
        assert "nobody answers there" in done.stderr
        assert "if the server has moved, its operator has a link for `foltr-search federation move`" in done.stderr
        offered = "`foltr-search leave --local` ends the membership here without telling the server"
        assert (offered in done.stderr) == (command[0] == "leave")
    assert "nobody answers there" in device.run("federation").stdout
    assert "erased" in device.run("leave", "--local", "--yes").stderr
    assert "belongs to no group" in device.run("leave", "--local", "--yes").stderr
    with Store(device.data_dir / "state.sqlite") as store:
        assert membership.load(store) is None


def test_a_spent_budget_is_exit_code_2(device: Device, group: Group) -> None:
    """A sync that the privacy ledger forbids to send is an error that names the setting."""
    see_pages(device, 30)
    assert device.run("join", group.link(), "--yes").returncode == 0
    done = device.run("sync", "--now", "--set", "federation.epsilon_budget=0.5")
    assert done.returncode == 2
    assert "federation.epsilon_budget" in done.stderr


def test_agreeing_to_background_syncing(device: Device, group: Group) -> None:
    """`federation background on` is remembered, and takes effect only with the setting."""
    assert device.run("federation", "background", "on").returncode == 2
    assert device.run("join", group.link(), "--yes").returncode == 0
    assert device.run("federation", "background", "on").returncode == 0
    assert json.loads(device.run("federation", "status", "--json").stdout)["background"] == "off"
    env = {"FOLTR_FEDERATION__SYNC": "daily"}
    assert json.loads(device.run("federation", "status", "--json", env=env).stdout)["background"] == "daily"


def test_a_sync_that_nobody_can_answer_goes_on_without_its_note(device: Device, group: Group) -> None:
    """As from cron: a question at the end of stdin counts as no, so nothing is sent and the rest is done."""
    see_pages(device, 30)
    assert device.run("join", group.link(), "--yes").returncode == 0
    with Store(device.data_dir / "state.sqlite") as store:
        store.set_value(membership.UNLISTED, b"1 2")
    done = device.run("sync", "--now")
    assert (done.returncode, "Do you agree?" in done.stderr) == (2, True)
    assert "nothing was sent: this device saw no list" in done.stderr
    with Store(device.data_dir / "state.sqlite") as store:
        assert membership.load_standing(store).synced > 0
    assert json.loads(device.run("federation", "status", "--json").stdout)["updates"] == []
