"""A form is filled from a flat TOML file, variables and flags. Each fault is one line with its place."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from nncache.errors import ConfigurationError
from nncache.net.setting_error import SettingError
from nncache.settings.forms import Form, Loading, Supplement
from tests.settings.test_keys import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheels:
    """A second component."""

    wheels: int = field(default=4, metadata={"help": "How many."})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfCar:
    """The settings of a command with two components."""

    engine: Engine = field(default_factory=Engine, metadata={"heading": "The engine"})
    wheels: Wheels = field(default_factory=Wheels, metadata={"heading": "The wheels"})

    def __post_init__(self) -> None:
        """Refuse inconsistent values."""
        if self.engine.power_w > 100 and self.wheels.wheels < 3:
            raise SettingError("wheels", self.wheels.wheels, "must be 3 or more for such power")


CAR = Form("car", SettingsOfCar)


def write(tmp_path: Path, text: str) -> Path:
    """Write a settings file; return its path."""
    path = tmp_path / "car.toml"
    path.write_text(text)
    return path


def test_a_flag_wins_over_the_file(tmp_path: Path) -> None:
    """The value in the file is not parsed, so that a flag can replace a wrong one."""
    config = write(tmp_path, 'power_w = "much"\nwheels = 3\nglob = ["/a", "/b"]\n')
    filled = CAR.fill_in(config, {"power_w": "7"}).settings
    assert (filled.engine.power_w, filled.engine.glob, filled.wheels.wheels) == (7, ("/a", "/b"), 3)


def test_a_file_of_windows_is_read(tmp_path: Path) -> None:
    """Its editors put a byte order mark before the first key, and end lines with CRLF."""
    config = tmp_path / "car.toml"
    config.write_bytes(b"\xef\xbb\xbfwheels = 3\r\npower_w = 7\r\n")
    filled = CAR.fill_in(config, {}).settings
    assert (filled.wheels.wheels, filled.engine.power_w) == (3, 7)


def test_keys_of_others_mean_nothing_here(tmp_path: Path) -> None:
    """Their values are not checked; the other command does that."""
    config = write(tmp_path, 'wings = "?"\nwheels = 3\n')
    assert CAR.fill_in(config, {}, {"wings"}).settings.wheels.wheels == 3


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("weels = 1\n", "{config}: weels: no such key; the nearest is wheels"),
        ("wingz = 1\n", "{config}: wingz: no such key; the nearest is wings"),
        ("power-w = 1\n", "{config}: power-w: no such key; the nearest is power_w"),
        (
            "[engine]\nidle_s = 1\n",
            "{config}: [engine]: tables have no meaning here; all keys are at the top",
        ),
        (
            'idle_s = "x"\n',
            'idle_s: x: must be a number of seconds, or one with a unit, such as "10m" (in {config})',
        ),
        ("power_w = -1\n", "power_w: -1: must be 0 or more (in {config})"),
        ("power_w = 101\nwheels = 2\n", "wheels: 2: must be 3 or more for such power (in {config})"),
    ],
)
def test_a_wrong_line_is_named_with_its_file(tmp_path: Path, text: str, reported: str) -> None:
    """The line has the key, the value, the allowed values and the place."""
    config = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        CAR.fill_in(config, {}, {"wings"})
    assert str(caught.value) == reported.format(config=config)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Set a variable during a test."""
    return monkeypatch.setenv


def test_a_variable_wins_over_the_file_and_a_flag_over_both(
    tmp_path: Path, environment: Callable[[str, str], None]
) -> None:
    """An empty variable counts as unset."""
    config = write(tmp_path, "power_w = 1\nwheels = 5\nidle_s = 4\n")
    environment("NNCACHE_POWER_W", "2")
    environment("NNCACHE_IDLE_S", "3m")
    environment("NNCACHE_WHEELS", "")
    filled = CAR.fill_in(config, {"power_w": "7"})
    assert filled.settings.engine == Engine(power_w=7, idle_s=180.0)
    assert filled.settings.wheels.wheels == 5
    assert filled.places["power_w"] == "--power-w"
    assert filled.places["idle_s"] == "NNCACHE_IDLE_S"


@pytest.mark.parametrize("text", ["fast", "-1"])
def test_a_wrong_variable_is_named(
    tmp_path: Path, environment: Callable[[str, str], None], text: str
) -> None:
    """This holds for a wrong type and for a wrong value."""
    environment("NNCACHE_POWER_W", text)
    with pytest.raises(ConfigurationError, match=rf"^power_w: {text}: must be .* \(in NNCACHE_POWER_W\)$"):
        CAR.fill_in(write(tmp_path, "power_w = 1\n"), {})


@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        ({"idle_s": "soon"}, 'idle_s: soon: must be a number of seconds, or one with a unit, such as "10m"'),
        ({"power_w": "-1"}, "power_w: -1: must be 0 or more"),
        ({"fuel": "oil"}, "fuel: oil: must be one of coal, wood"),
        ({"power_w": "101", "wheels": "2"}, "wheels: 2: must be 3 or more for such power"),
    ],
)
def test_a_wrong_flag_is_reported_without_a_file(flags: dict[str, object], reported: str) -> None:
    """The file is named only if the fault is in it."""
    with pytest.raises(ConfigurationError) as caught:
        CAR.fill_in(None, flags)
    assert str(caught.value) == reported


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a = ", "is not TOML"),
        (b"\xff", "is not TOML"),
        (b"a = " + b"[" * 5000, "is not TOML"),
        (None, "No such"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, fault: str) -> None:
    """The file is missing, not TOML or not UTF-8; each is one line."""
    config = tmp_path / "car.toml"
    if content is not None:
        config.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"^{config}: {fault}"):
        CAR.fill_in(config, {})


def test_all_faults_of_a_start_are_named(tmp_path: Path) -> None:
    """Unknown keys, wrong types, refused values and wrong flags each have a line."""
    config = write(tmp_path, 'weels = 1\nidle_s = "x"\n[wing]\nx = 1\n')
    with pytest.raises(ConfigurationError) as caught:
        CAR.fill_in(config, {"power_w": "-1"})
    assert caught.value.lines == (
        f"{config}: weels: no such key; the nearest is wheels",
        f"{config}: [wing]: tables have no meaning here; all keys are at the top",
        f'idle_s: x: must be a number of seconds, or one with a unit, such as "10m" (in {config})',
        "power_w: -1: must be 0 or more",
    )
    assert str(caught.value) == "; ".join(caught.value.lines)


def test_where_each_value_can_be_changed_is_known(tmp_path: Path) -> None:
    """It is the flag if one was given, else the file; without a file, the flag."""
    config = write(tmp_path, "power_w = 3\nwheels = 5\n")
    places = CAR.fill_in(config, {"wheels": "6"}).places
    assert places["power_w"] == f"power_w in {config}"
    assert places["wheels"] == "--wheels"
    assert places["idle_s"] == f"idle_s in {config}"
    assert CAR.fill_in(None, {}).places["idle_s"] == "--idle-s"


def test_what_is_supplied_is_changed_where_it_comes_from() -> None:
    """The value has neither a flag nor a key in the settings file."""

    def supply(given: Mapping[str, object], _: Collection[str]) -> Supplement:
        return Supplement({"wheels": 3} if "power_w" in given else {}, "/etc/garage")

    car = Form("car", SettingsOfCar, supply)
    assert car.fill_in(None, {"power_w": "1"}).places["wheels"] == "wheels (read from /etc/garage)"


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ("user = joe\n", r"at line 1, .*\): user: a text must stand in quotes, a list in \[\]$"),
        ("[oops\n", r"is not TOML: [^:]*$"),
    ],
)
def test_a_line_that_is_not_toml_is_named_by_its_key(tmp_path: Path, content: str, advice: str) -> None:
    """The value is not printed, since it may be a secret."""
    with pytest.raises(ConfigurationError, match=advice) as caught:
        CAR.fill_in(write(tmp_path, content), {})
    assert "joe" not in str(caught.value)


def test_a_file_that_has_become_empty_is_refused(tmp_path: Path) -> None:
    """A writer may be between two steps; the completed file is loaded later. A file that was always empty is valid."""
    config = write(tmp_path, "wheels = 3\n")
    load = Loading(config, partial(CAR.fill_in, config, {}))
    first = load()
    for content in ("", "# nothing\n"):
        config.write_text(content)
        with pytest.raises(ConfigurationError, match=r"is empty, and was not when it was last read"):
            load()
    config.write_text("wheels = 5\n")
    assert load() != first
    empty = write(tmp_path, "")
    load = Loading(empty, partial(CAR.fill_in, empty, {}))
    assert load() == load()
    assert Loading(None, partial(CAR.fill_in, None, {}))() == CAR.fill_in(None, {})
