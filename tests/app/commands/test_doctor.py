"""`doctor` as a user runs it: it accepts what is sound and names what is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.app.conftest import Device


def names(device: Device, query: str) -> list[str]:
    return device.run("search", query, "--no-explore", "--format", "{name}").stdout.splitlines()


def test_doctor_is_content_with_a_sound_device_and_finds_what_is_broken(device: Device) -> None:
    """One line per check; exit code 2 for a damaged index, a bad setting or a damaged state, each named."""
    assert device.run("doctor").returncode == 0
    device.index()
    sound = device.run("doctor")
    assert sound.returncode == 0, sound.stdout
    assert all(line.startswith("ok") for line in sound.stdout.splitlines() if "index:" in line)
    assert "6 documents in 6 files" in sound.stdout
    for toc in (device.data_dir / "index").glob("*.toc"):
        toc.write_bytes(b"damaged")
    device.config_file.write_text("[search]\nlimit = 0\n", encoding="utf-8")
    damaged = device.run("doctor")
    assert damaged.returncode == 2
    broken = [line.split()[1] for line in damaged.stdout.splitlines() if line.startswith("broken")]
    assert broken == ["settings:", "index:"]
    assert damaged.stderr.startswith("foltr-search: 2 of ")


def test_a_data_folder_that_cannot_be_made_is_broken(device: Device) -> None:
    """`doctor` does not promise a folder that `index` could not make."""
    in_the_way = device.notes / "plan.md"
    in_the_way.write_text("no folder", encoding="utf-8")
    folder = in_the_way / "share" / "data"
    said = device.run("doctor", env={"FOLTR_DATA_DIR": str(folder)})
    assert said.returncode == 2
    assert f"{folder} does not exist and {in_the_way} lets none be made" in said.stdout


def test_files_that_others_may_enter_are_named(device: Device) -> None:
    """It reports their modes, and changes none."""
    device.index()
    (device.data_dir / "catalogue.sqlite").chmod(0o644)
    said = device.run("doctor").stdout
    assert (
        f"other users can open 1 of its files, as {device.data_dir}/catalogue.sqlite; any other command closes" in said
    )


def test_a_damaged_index_is_rebuilt_and_searching_it_says_so(device: Device) -> None:
    """A search over a damaged index gives no traceback, and the next `index` rebuilds it with a message."""
    device.index()
    for toc in (device.data_dir / "index").glob("*.toc"):
        toc.write_bytes(b"damaged")
    searched = device.run("search", "heron")
    assert searched.returncode == 2
    assert "`foltr-search index` rebuilds it" in searched.stderr
    assert len(searched.stderr.splitlines()) == 1
    rebuilt = device.run("index")
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert len(names(device, "heron")) == 3
