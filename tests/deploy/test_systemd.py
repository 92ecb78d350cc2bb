"""The units pass systemd's own checks, and the names in them exist."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from nncache.commands.group import nncache
from nncache.settings.commands import DNS, PROXY, PUBLISHER
from nncache.settings.forms import Form
from tests.house.tree import ROOT

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
TIMERS = sorted((ROOT / "deploy" / "systemd").glob("*.timer"))
MAX_EXPOSURE = 20
"""In tenths, as `systemd-analyze security` counts: 100 is a service without any sandboxing."""

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="apt-get install systemd")


def installed(unit: Path, directory: Path) -> Path:
    """Return a copy of the unit with the path of an installed program."""
    copy = directory / unit.name
    program = Path(sys.executable).with_name("nncache")
    copy.write_text(unit.read_text().replace("/usr/bin/nncache", str(program)))
    return copy


def analyzed(*words: str) -> str:
    """Return the output of systemd-analyze, which must succeed."""
    done = subprocess.run(
        ["systemd-analyze", *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_each_daemon_has_a_unit() -> None:
    """The command line in it is valid."""
    commands = list[str]()
    for unit in UNITS:
        (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
        command: click.Command = nncache
        name, rest = "", line.split()[1:]
        while isinstance(command, click.Group):
            name = rest[0]
            _, found, rest = command.resolve_command(click.Context(command), rest)
            assert found is not None
            command = found
        command.make_context(name, rest)
        commands.append(name)
    assert commands == ["dns", "proxy", "publisher", "reaper"]


def test_no_example_of_a_setting_is_hidden_by_the_units() -> None:
    """With PrivateTmp and ProtectHome a daemon finds there nothing of what its operator sees."""
    forms: tuple[Form[Any], ...] = (PROXY, PUBLISHER, DNS)
    keys = [key for form in forms for key in form.keys.values()]
    assert [key.name for key in keys if re.search(r"(?<!\w)/(home|root|tmp|var/tmp)/", key.help)] == []


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_all_of_it(unit: Path, tmp_path: Path) -> None:
    """There is no unknown key and no invalid value."""
    assert analyzed("verify", str(installed(unit, tmp_path))) == ""


@needs_systemd
@pytest.mark.parametrize("timer", TIMERS, ids=lambda timer: timer.name)
def test_a_timer_starts_the_unit_of_its_name(timer: Path, tmp_path: Path) -> None:
    """The unit must be in the same directory."""
    installed(timer.with_suffix(".service"), tmp_path)
    copy = tmp_path / timer.name
    copy.write_text(timer.read_text())
    assert analyzed("verify", str(copy)) == ""


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_fences_are_high(unit: Path, tmp_path: Path) -> None:
    """A daemon needs only the network and its own files."""
    analyzed("security", "--offline=true", f"--threshold={MAX_EXPOSURE}", str(installed(unit, tmp_path)))
