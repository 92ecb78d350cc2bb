"""Each field of a component is a key. Values are parsed strictly, and errors have one form."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.net.setting_error import SettingError
from nncache.settings.keys import build, from_flag, from_toml, from_variable, keys_of, unit_of, unquoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An ordinary component."""

    power_w: int = field(default=5, metadata={"help": "Watts."})
    idle_s: float = field(default=1.5, metadata={"help": "Seconds."})
    idle_share: float = field(default=0.5, metadata={"help": "Share."})
    strokes_per_s: float = field(default=1.0, metadata={"help": "Strokes."})
    tank_bytes: int = field(default=9, metadata={"help": "Bytes."})
    leak_bytes_s: int = field(default=9, metadata={"help": "Bytes a second."})
    loud: bool = field(default=False, metadata={"help": "Whether it is heard."})
    fuel: Literal["coal", "wood"] = field(default="coal", metadata={"help": "What it burns."})
    glob: tuple[str, ...] = field(default=(), metadata={"help": "Patterns."})
    namenode_http: tuple[str, ...] = field(default=("a:1",), metadata={"help": "Addresses."})
    user: str = field(
        default_factory=lambda: "root", metadata={"help": "Who.", "default": "whoever starts it"}
    )

    def __post_init__(self) -> None:
        """Refuse a value out of range."""
        if self.power_w < 0:
            raise SettingError("power_w", self.power_w, "must be 0 or more")


KEYS = {key.name: key for key in keys_of([Engine])}


def test_a_computed_default_is_documented_in_words() -> None:
    """The generated page must not depend on the machine."""
    assert (KEYS["user"].default, KEYS["user"].default_text) == ("root", "whoever starts it")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("power_w", 7, 7),
        ("idle_s", 2, 2.0),
        ("idle_s", 2.5, 2.5),
        ("loud", True, True),
        ("fuel", "wood", "wood"),
        ("glob", ["/a", "/b"], ("/a", "/b")),
        ("user", "hdfs", "hdfs"),
    ],
)
def test_a_toml_value_of_the_right_type_is_taken(name: str, value: object, expected: object) -> None:
    """An integer is accepted as a number, and arrays become tuples."""
    read = from_toml(KEYS[name], value)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("power_w", "seven", "must be a whole number"),
        ("power_w", 7.0, "must be a whole number"),
        ("power_w", True, "must be a whole number"),
        ("idle_s", True, 'must be a number of seconds, or one with a unit, such as "10m"'),
        ("idle_s", float("nan"), 'must be a number of seconds, or one with a unit, such as "10m"'),
        ("idle_s", float("inf"), 'must be a number of seconds, or one with a unit, such as "10m"'),
        ("idle_s", 10**400, 'must be a number of seconds, or one with a unit, such as "10m"'),
        ("loud", 1, "must be true or false"),
        ("loud", "true", "must be true or false"),
        ("fuel", "oil", "must be one of coal, wood"),
        ("fuel", 1, "must be one of coal, wood"),
        ("glob", "/a", "must be a list of texts"),
        ("glob", [1], "must be a list of texts"),
        ("user", 1, "must be a text"),
    ],
)
def test_a_wrong_toml_type_names_key_value_and_allowed(name: str, value: object, allowed: str) -> None:
    """Nothing is converted implicitly: a quoted number is an error."""
    with pytest.raises(SettingError) as caught:
        from_toml(KEYS[name], value)
    assert (caught.value.key, caught.value.allowed) == (name, allowed)
    assert str(caught.value).startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("power_w", "7", 7),
        ("idle_s", "2", 2.0),
        ("loud", True, True),
        ("fuel", "wood", "wood"),
        ("glob", ("/{a,b}", "/c"), ("/{a,b}", "/c")),
        ("namenode_http", ("a:1,b:2",), ("a:1", "b:2")),
        ("namenode_http", ("a:1", "b:2, c:3"), ("a:1", "b:2", "c:3")),
    ],
)
def test_a_flag_is_read_from_its_text(name: str, value: object, expected: object) -> None:
    """Addresses may be comma-separated in a flag. Globs may not, since a comma can be part of a glob."""
    assert from_flag(KEYS[name], value) == expected


@pytest.mark.parametrize(
    ("name", "value"), [("power_w", "7.0"), ("idle_s", "fast"), ("idle_s", "nan"), ("fuel", "oil")]
)
def test_a_flag_that_says_no_such_value_is_refused(name: str, value: str) -> None:
    """The error has the same form as for a file."""
    with pytest.raises(SettingError, match=f"^{name}: "):
        from_flag(KEYS[name], value)


def test_components_are_built_from_their_own_keys() -> None:
    """Missing keys get their defaults. The component itself refuses invalid values."""
    assert build([Engine], {"power_w": 7}) == ((Engine(power_w=7),), ())
    _, (fault,) = build([Engine], {"power_w": -1})
    assert str(fault) == "power_w: -1: must be 0 or more"


def faults_of(component: type, values: dict[str, object]) -> list[str]:
    """Return the faults of a component's values as "key: value"."""
    return [f"{fault.key}: {fault.value}" for fault in build([component], values)[1]]


def test_every_fault_of_a_component_is_found() -> None:
    """All faults are reported, except those caused only by leaving out another faulty value."""
    assert faults_of(
        NameNodeSettings,
        {
            "user": "a:b",
            "namenode_http": ("http://a:1", "b:1"),
            "namenode_rpc": ("a:2", "b"),
            "rpc_timeout_s": -1.0,
        },
    ) == ["namenode_http: http://a:1", "namenode_rpc: b", "user: a:b", "rpc_timeout_s: -1.0"]
    assert faults_of(
        NameNodeSettings, {"user": "hdfs", "namenode_http": ("a:1", "b:1"), "namenode_rpc": ("a:2",)}
    ) == ["namenode_rpc: a:2"]
    assert faults_of(NameNodeSettings, {"user": "hdfs", "namenode_http": ("a", "a")}) == [
        "namenode_http: a",
        "namenode_rpc: 127.0.0.1:8020",
    ]


def test_two_components_may_not_share_a_key() -> None:
    """In a flat file each key has one meaning."""
    with pytest.raises(TypeError, match="power_w belongs to Engine and Engine"):
        keys_of([Engine, Engine])


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """A component without a help text."""

    mute: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """A component of a type that no file can hold."""

    odd: complex = field(default=1j, metadata={"help": "Odd."})


@dataclass(frozen=True, slots=True, kw_only=True)
class Demanding:
    """A component without a default."""

    must: int = field(metadata={"help": "Must be said."})


@pytest.mark.parametrize(
    ("component", "fault"),
    [(Silent, "has no help"), (Odd, "a settings file cannot hold"), (Demanding, "has no default")],
)
def test_a_field_must_be_fit_for_a_file(component: type, fault: str) -> None:
    """A programming error fails every start and test, not just one user's."""
    with pytest.raises(TypeError, match=fault):
        keys_of([component])


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("idle_s", "3s", 3.0),
        ("idle_s", "500ms", 0.5),
        ("idle_s", "10 min", 600.0),
        ("idle_s", "1.5h", 5400.0),
        ("idle_s", " 2d", 172800.0),
        ("tank_bytes", "2GiB", 2 << 30),
        ("tank_bytes", "1.5k", 1536),
        ("tank_bytes", "7", 7),
        ("leak_bytes_s", "16KB", 16384),
        ("idle_share", "1%", 0.01),
        ("idle_share", "0.5", 0.5),
    ],
)
def test_a_number_may_have_a_unit(name: str, text: str, expected: float) -> None:
    """Units are allowed in the file, in flags and in variables. They are binary multiples, as in Hadoop and nginx."""
    for read in (from_toml, from_flag, from_variable):
        value = read(KEYS[name], text)
        assert value == expected
        assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("idle_s", "3GiB"),
        ("idle_s", "3s 4m"),
        ("idle_s", "-3s"),
        ("idle_s", "9" * 30 + "s"),
        ("tank_bytes", "3s"),
        ("tank_bytes", "0.3b"),
        ("leak_bytes_s", "16KB/s"),
        ("idle_share", "1s"),
        ("power_w", "1k"),
        ("strokes_per_s", "3s"),
    ],
)
def test_a_unit_of_another_kind_is_refused(name: str, text: str) -> None:
    """So is a unit of a key without one. The message has the right form."""
    for read in (from_toml, from_flag, from_variable):
        with pytest.raises(SettingError) as caught:
            read(KEYS[name], text)
        assert (caught.value.key, caught.value.allowed) == (name, KEYS[name].allowed)


def test_what_is_allowed_names_the_unit() -> None:
    """The example in the message is itself valid."""
    assert KEYS["tank_bytes"].allowed == (
        'must be a whole number of bytes, or one with a unit, such as "2GiB"'
    )
    assert KEYS["idle_share"].allowed == 'must be a number, or one with a unit, such as "1%"'
    assert KEYS["power_w"].allowed == "must be a whole number"
    for key in KEYS.values():
        if key.unit is not None:
            from_toml(key, key.unit.example)


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("idle_s", "3s", 'must stand in quotes: "3s"'),
        ("power_w", "1k", "must be a number"),
        ("power_w", "many", ""),
        ("power_w", "", ""),
    ],
)
def test_a_quantity_that_is_not_toml(name: str, text: str, advice: str) -> None:
    """The quotes are missing, or the key has no unit."""
    assert unquoted(name, text) == advice


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("power_w", "7", 7),
        ("loud", "True", True),
        ("fuel", "wood", "wood"),
        ("glob", "/{a,b} /c", ("/{a,b}", "/c")),
        ("namenode_http", "a:1,b:2 c:3", ("a:1", "b:2", "c:3")),
    ],
)
def test_a_variable_is_read_from_its_text(name: str, text: str, expected: object) -> None:
    """Spaces separate the elements of a list."""
    assert from_variable(KEYS[name], text) == expected


def test_a_switch_is_true_or_false_in_the_environment() -> None:
    """The values are the same as in the file."""
    with pytest.raises(SettingError, match="loud: yes: must be true or false"):
        from_variable(KEYS["loud"], "yes")


def test_rates_are_no_durations() -> None:
    """Their names end in _s, too."""
    assert unit_of("max_calls_per_s") is None
