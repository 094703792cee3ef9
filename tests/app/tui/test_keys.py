"""The table of actions, and the check of the user's own keys."""

from __future__ import annotations

import subprocess
import sys

import pytest

from app.tui.keys import ACTIONS, BY_ID, actions_of, after_leader, is_letter, keys_of, letter_of, problems_of, usable


def test_the_default_keys_do_not_clash() -> None:
    """Out of the box every key of a scope belongs to one action."""
    assert problems_of({}) == ()
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)


def test_an_unknown_action_is_named_with_the_nearest_one() -> None:
    """A typing error in screen.keys is one line that says what was meant."""
    assert problems_of({"opne": "enter"}) == ("screen.keys: there is no action opne; did you mean open?",)


def test_a_key_for_two_actions_is_reported() -> None:
    """Two actions of one part of the screen cannot share a key."""
    assert problems_of({"edit": "f2"}) == ("screen.keys: f2 is the key of edit and of preview",)


@pytest.mark.parametrize("key", [key for action in ACTIONS for key in keys_of(action, {})] + ["ctrl+shift+f5", "é"])
def test_what_can_be_pressed_is_a_key(key: str) -> None:
    """All that are shipped, as Textual names them."""
    assert not [line for line in problems_of({"sizes": key}) if "is no key" in line]


@pytest.mark.parametrize("key", ["ctrl-x", "nokey", "control+x", "pgdn"])
def test_a_key_that_there_is_not_is_told(key: str) -> None:
    """The action would have none."""
    assert problems_of({"edit": f"e,{key}"}) == (f"screen.keys: edit: {key} is no key; write ctrl+x, f5, a letter",)


def test_own_keys_replace_all_default_ones() -> None:
    """A choice takes the place of every default key of the action."""
    assert keys_of(BY_ID["edit"], {"edit": "ctrl+g, f9"}) == ("ctrl+g", "f9")
    assert keys_of(BY_ID["edit"], {}) == ("e", "alt+e")


def test_unusable_choices_are_left_out() -> None:
    """Unknown actions and empty keys do not reach Textual."""
    assert usable({"opne": "enter", "edit": " ", "copy": "f9"}) == {"copy": "f9"}


def test_importing_the_package_and_the_keys_does_not_load_textual() -> None:
    """The command line may name the screen without paying for it."""
    code = "import sys, app.tui, app.tui.keys; assert 'textual' not in sys.modules and 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_alt_key_arrives_from_a_terminal_that_sends_escape() -> None:
    """Most terminals send Alt+e as Escape and e, in which Textual knows letters only, and takes two for its own."""
    keys = [key for action in ACTIONS for key in action.keys.split(",") if key.startswith("alt+")]
    assert all(len(key) == len("alt+e") and key[-1].islower() and key[-1] not in "bf" for key in keys), keys


def test_every_action_has_a_key_that_any_terminal_sends() -> None:
    """No F key and no Alt is needed: a letter after the leader key, or a key that types nothing."""
    leader = after_leader({})
    for action in (*actions_of("search"), *actions_of("list")):
        plain = [key for key in keys_of(action, {}) if not key.startswith("alt+") and key not in F_KEYS]
        assert plain, action.id
        if action.id not in ("leader", "back"):
            assert leader[letter_of(action, {})] is action


F_KEYS = tuple(f"f{number}" for number in range(1, 13))


def test_the_leader_key_of_an_action_is_its_letter_and_follows_the_users_choice() -> None:
    """After the leader key a letter does what it does in the list; an action without one keeps its first key."""
    assert (letter_of(BY_ID["edit"], {}), letter_of(BY_ID["quit"], {})) == ("e", "ctrl+q")
    assert after_leader({"edit": "E,f9"})["E"] is BY_ID["edit"]
    assert "e" not in after_leader({"edit": "E,f9"})
    assert is_letter("slash")
    assert not is_letter("f9")


def test_a_key_of_the_screen_and_of_a_part_of_it_is_reported_once_it_is_chosen() -> None:
    """As shipped h goes left in the filters; a key that the user gave away there is named."""
    assert problems_of({"refresh": "j"}) == (
        "screen.keys: j is the key of refresh and of list-down",
        "screen.keys: j is the key of refresh and of preview-down",
        "screen.keys: j is the key of refresh and of filter-down",
    )
