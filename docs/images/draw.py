"""Draws the pictures of the README, still and moving: the real screen over a handful of made-up documents.

    python docs/images/draw.py [FOLDER]

Nothing of the user's is read: the documents, the index and the home folder are made in a temporary folder.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from app.tui.search_app import FoltrApp

HERE = Path(__file__).parent
NOW = 1_750_000_000.0
"""15 June 2025"""
DAY = 86_400.0
MILLISECONDS = re.compile(r"\d+&#160;ms")
DOCUMENTS: dict[str, tuple[float, str]] = {
    "energy/wind-farm-site-visit.md": (
        2,
        "# Site visit, Holm wind farm\n\nThe wind was from the west, 8 m/s at hub height. Turbine 4 is still: "
        "its\ngearbox is waiting for a bearing. The crew climbs again on Thursday, weather\npermitting.\n\n"
        "## Noise\n\nMeasured 39 dB at the nearest farm, below the limit of 45 dB. With wind from the\n"
        "east the neighbours hear the blades; the operator slows turbine 2 at night.\n\n"
        "## To do\n\n* ask Jonas for the maintenance log of turbine 4\n* compare with the wind atlas\n"
        "* write to the council about the access road\n",
    ),
    "energy/wind-atlas-summary.md": (
        40,
        "# Wind atlas, summary\n\nMean wind speed by height and month, from the mast at Holm. The best months are\n"
        "November to March. A turbine of 3 MW pays for itself in nine years.\n",
    ),
    "energy/solar-roof-offer.html": (
        95,
        "<html><head><title>Offer: solar panels for the barn roof</title></head><body><h1>Offer</h1>"
        "<p>32 panels, 13 kW, with a battery of 10 kWh. No wind load problem on this roof.</p></body></html>",
    ),
    "energy/yield_model.py": (
        12,
        '"""Yearly yield of a wind turbine from the distribution of wind speeds."""\n\nimport math\n\n\n'
        "def weibull(speed, shape, scale):\n    return shape / scale * (speed / scale) ** (shape - 1) * "
        "math.exp(-((speed / scale) ** shape))\n\n\ndef yearly_yield(turbine, shape=2.0, scale=8.1):\n"
        "    return 8760 * sum(turbine.power(v) * weibull(v, shape, scale) for v in range(1, 26))\n",
    ),
    "mail/jonas-gearbox.eml": (
        1,
        "From: Jonas Berg <jonas@holmwind.example>\nTo: Anna Holt <anna@example.org>\n"
        "Subject: Re: gearbox of turbine 4\nDate: Sat, 14 Jun 2025 09:12:00 +0000\n"
        "Content-Type: text/plain; charset=utf-8\n\nHello Anna,\n\nthe bearing arrives on Wednesday. If the wind stays "
        "below 10 m/s we change it on\nThursday and the turbine turns again at noon.\n\nJonas\n",
    ),
    "mail/council-road.eml": (
        6,
        "From: Town council <office@council.example>\nTo: Anna Holt <anna@example.org>\n"
        "Subject: Access road to the wind farm\nDate: Mon, 9 Jun 2025 15:40:00 +0000\n"
        "Content-Type: text/plain; charset=utf-8\n\nDear Ms Holt,\n\nthe road may be used by heavy vehicles from "
        "7 to 19 h, except on market days.\n",
    ),
    "letters/landlord-windows.txt": (
        200,
        "Dear landlord,\n\nthe kitchen windows let the wind in, and in winter the rain as well. Please send\n"
        "somebody before October.\n",
    ),
    "notes/reading.md": (
        20,
        "# Reading\n\n* Wind, Sand and Stars, chapter 3\n* The wind turbine handbook, on loan until July\n",
    ),
    "notes/sailing.md": (30, "# Sailing\n\nReef early: the wind freshens at four in the afternoon.\n"),
    "data/mast-2024.csv": (60, "month,wind speed m/s\nJanuary,9.4\nFebruary,8.8\nMarch,8.9\nApril,7.1\n"),
    "notes/garden.md": (9, "# Garden\n\nBeans out of the wind, tomatoes along the south wall.\n"),
}


def write_documents(home: Path) -> None:
    """Put DOCUMENTS into a home folder, with their ages."""
    for name, (days_old, text) in DOCUMENTS.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (NOW - days_old * DAY, NOW - days_old * DAY))


async def draw(home: Path, out: Path) -> None:
    """All pictures, in the order in which one would meet the screens."""
    from textual.events import Paste

    from app.following.indexing import update_index
    from app.learning.outcomes import Outcome
    from app.search.search import Search
    from app.settings import IndexSettings, LearningSettings, Paths, ScreenSettings, Settings
    from app.suggested_folders import RootSuggestion
    from app.tui.background_indexing import ProgressLine
    from app.tui.bars.query_input import QueryInput
    from app.tui.screen_setup import Setup, StoredHistory
    from app.tui.search_app import FoltrApp

    paths = Paths(config_dir=home / ".config", data_dir=home / ".data")
    fresh = Paths(config_dir=home / ".config", data_dir=home / ".fresh")
    update_index(Settings(index=IndexSettings(workers=1)), paths, roots=[str(home)])

    class Still:
        """Indexing that is done."""

        def __init__(self, *folders: RootSuggestion) -> None:
            self._folders = folders

        def has_index(self) -> bool:
            return not self._folders

        def suggest(self) -> Sequence[RootSuggestion]:
            return self._folders

        def folders(self) -> Sequence[tuple[str, str]]:
            return [(str(home / "energy"), "4 documents"), (str(home / "mail"), "2 documents")]

        def start(self, folders: Sequence[str], report: Callable[[ProgressLine], None]) -> None:
            return None

        def stop(self) -> None:
            return None

    async def frames(
        steps: Sequence[Sequence[str]], *, size: tuple[int, int], theme: str = "dark", indexing: Still | None = None
    ) -> list[str]:
        """The screen after each step, which is some keys pressed one after another, or words pasted."""
        place = fresh if indexing else paths
        settings = Settings(screen=ScreenSettings(theme=theme), learning=LearningSettings(exploration=0.0))
        setup = Setup(
            settings, place.data_dir, lambda: Search(settings, place), indexing or Still(),
            StoredHistory(settings, place), now=NOW,
            read_stats=lambda: example_outcomes(Outcome),
        )  # fmt: skip
        app, drawn = FoltrApp(setup), []
        async with app.run_test(size=size) as pilot:
            app.search_screen.query_one(QueryInput).cursor_blink = False
            await settled(app, pilot)
            for keys in steps:
                for key in keys:
                    if " " in key:
                        app.search_screen.query_one(QueryInput).post_message(Paste(key))
                        await settled(app, pilot)
                    else:
                        await pilot.press(key)
                await settled(app, pilot)
                text = app.export_screenshot(title="foltr-search").replace(str(home), "/home/anna")
                drawn.append(MILLISECONDS.sub("4&#160;ms", text))
        app.search_screen.session.close()
        return drawn

    async def picture(name: str, keys: Sequence[str], **options: Any) -> None:
        (drawn,) = await frames([keys], **options)
        (out / f"{name}.svg").write_text(drawn, encoding="utf-8")

    query = ["wind turbine"]
    folders = Still(
        RootSuggestion(str(home / "Documents"), "4,210 files"), RootSuggestion(str(home / "Notes"), "612 files"),
        RootSuggestion(str(home / "Mail"), "10,000+ files"), RootSuggestion(str(home / "projects"), "1,904 files"),
    )  # fmt: skip
    await picture("first-start", [], size=(96, 26), indexing=folders)
    await picture("search", [*query, "down"], size=(124, 34))
    await pick(paths, "wind turbine", "notes/reading.md", times=3)
    await picture("explain", [*query, "f3"], size=(124, 34))
    await picture("filters", [*query, "f4", "right"], size=(124, 34), theme="light")
    await picture("narrow", [*query, "down"], size=(80, 24))
    await picture("statistics", ["f6"], size=(96, 34))
    await picture("dense", [*query, "ctrl+g", "d"], size=(100, 30))
    steps = [keys for keys, _ in DEMO]
    moving = in_turn(await frames(steps, size=(100, 30)), [seconds for _, seconds in DEMO])
    (out / "demo.svg").write_text(moving, encoding="utf-8")


async def settled(app: FoltrApp, pilot: Pilot[int]) -> None:
    """Wait until nothing is asked, read or timed any more; an answer may ask for something else, a few times round."""
    screen = app.search_screen
    for _ in range(4):
        for owner, name in ((screen.questions, "_typing"), (screen.side, "_resting")):
            while (timer := getattr(owner, name)) is not None and timer._task is not None and not timer._task.done():
                await asyncio.sleep(0.01)
        for lane in screen.session._lanes.values():
            for wait_for in (lane.put, lane.put):
                wait_for((reached := threading.Event()).set)
                while not reached.is_set() or lane._latest is not None:
                    await asyncio.sleep(0.01)
        await app.workers.wait_for_complete()
        await pilot.pause()


DEMO: tuple[tuple[Sequence[str], float], ...] = (
    ((), 1.5),
    ((*"wi",), 0.5),
    ((*"nd",), 0.9),
    (("space", *"turbine"), 1.8),
    (("down",), 1.0),
    (("down",), 1.6),
    (("f3",), 2.4),
    (("f3", "ctrl+g"), 2.2),
    (("d",), 1.8),
    (("ctrl+g", "d", "ctrl+l", *"from:jonas"), 2.4),
)
"""Keys, and for how many seconds what they show is seen."""


FRAME = re.compile(r"<style>(.*)</style>(\s*<defs>.*</defs>)(.*)</svg>", re.DOTALL)
"""style, clipping paths and the rest of a picture"""
COLOUR = re.compile(r"\.(r\d+) \{ (.*) \}\n")


def in_turn(frames: Sequence[str], seconds: Sequence[float]) -> str:
    """One picture that shows some of a size one after another, again and again; what all begin with stands once."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', frames[0])
    assert size is not None
    total, begin, parts, rules = sum(seconds), 0.0, [], []
    classes: dict[str, str] = {}
    for number, (frame, own) in enumerate(zip(frames, seconds, strict=True)):
        start, end = 100 * begin / total, 100 * (begin + own) / total
        shown = f"{start:.3f}%{{visibility:visible}}{end:.3f}%{{visibility:hidden}}"
        rules.append(f"@keyframes f{number}{{0%{{visibility:hidden}}{shown}100%{{visibility:hidden}}}}")
        style, paths, drawn = with_classes(frame, classes)
        parts.append(f'<g visibility="hidden" style="animation:f{number} {total}s step-end infinite">{drawn}</g>')
        begin += own
    rules += [style, *(f".{name} {{ {colour} }}\n" for colour, name in classes.items())]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[1]} {size[2]}">'
    return f"{head}<style>{''.join(rules)}</style>{paths}{''.join(parts)}</svg>\n"


def with_classes(frame: str, classes: dict[str, str]) -> tuple[str, str, str]:
    """Style without colours, clipping paths and the rest of a picture; its colours by names that all pictures share."""
    found = FRAME.search(re.sub(r"terminal-\d+-", "", frame))
    assert found is not None
    colours = dict(COLOUR.findall(found[1]))

    def shared(use: re.Match[str]) -> str:
        return f'class="{classes.setdefault(colours[use[1]], f"c{len(classes)}")}"'

    return COLOUR.sub("", found[1]), found[2], re.sub(r'class="(r\d+)"', shared, found[3])


async def pick(paths: object, text: str, name: str, *, times: int) -> None:
    """Open one result a few times, so that there is something to explain."""
    from app.paths import Paths
    from app.search.results import SearchRequest
    from app.search.search import Search
    from app.settings import Settings

    assert isinstance(paths, Paths)
    search = Search(Settings(), paths)
    for _ in range(times):
        page = search.search(SearchRequest(text, explore=False))
        hit = next(hit for hit in page.hits if hit.path.endswith(name))
        search.opened(page, hit)
        search.leave(page)
    search.close()


def example_outcomes(outcome: Callable[..., object]) -> Sequence[object]:
    """What the statistics might look like after some weeks: made up, and drawn as such."""
    places = [3, 2, 4, 1, 2, 1, 3, 1, 1, 2, 1, 1]
    return [
        outcome(NOW - (300 - n) * DAY / 10, max(1, places[n % 12] - n // 90), places[n % 12], "screen")
        for n in range(300)
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "anna"
        home.mkdir()
        os.environ.update(HOME=str(home), TZ="UTC", FOLTR_DATA_DIR=str(home / ".data"), COLORTERM="truecolor")
        time.tzset()
        write_documents(home)
        asyncio.run(draw(home, Path(sys.argv[1]) if len(sys.argv) > 1 else HERE))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent.parent))
    main()
