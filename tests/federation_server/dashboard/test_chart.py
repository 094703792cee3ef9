"""Charts over rounds: scale, gaps, and what is read out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from federation_server.dashboard.view import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, ceiling, chart


@pytest.mark.parametrize(
    ("largest", "whole", "top"),
    [(0, False, 1), (0, True, 2), (0.9, False, 1), (1.0, False, 1), (1.01, False, 2), (0.021, False, 0.025),
     (17.3, False, 20), (3, True, 4), (1, True, 2), (9, True, 10), (11, True, 20)],
)  # fmt: skip
def test_the_scale_ends_at_a_round_number(largest: float, whole: bool, top: float) -> None:
    """The smallest such number that holds the largest value; of counts an even one."""
    assert ceiling(largest, whole=whole) == pytest.approx(top)


def test_points_lie_where_their_values_say() -> None:
    """0 at the bottom, the ceiling at the top, the first round left, the last one right."""
    drawn = chart(["1.1", "1.2", "1.3"], [0.0, 1.0, 0.5], label="x")
    dots = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    middle = (LEFT + WIDTH - RIGHT) / 2
    half = (TOP + HEIGHT - BOTTOM) / 2
    assert dots == [(LEFT, HEIGHT - BOTTOM), (middle, TOP), (WIDTH - RIGHT, half)]


def test_a_gap_lifts_the_line() -> None:
    """A round without a value cuts the line in two; the drawing is well-formed and says its last value."""
    drawn = chart(["1.1", "1.2", "1.3", "1.4"], [1.0, 2.0, None, 1.5], beside=[1.0, 1.0, 1.0, 1.0], label="a <b>")
    assert re.search(r'class="own" d="M[\d. ]+L[\d. ]+M[\d. ]+"', drawn)
    root = ET.fromstring(drawn)
    assert root.attrib["aria-label"] == "a <b>, 1.1 to 1.4: 1.50 at last"


def test_nothing_yet_is_said() -> None:
    """Without rounds, and where no round has the number, there is no empty scale."""
    assert "nothing yet" in chart([], [], label="x")
    assert "nothing yet" in chart(["1.1"], [None], beside=[1.0], label="x")
