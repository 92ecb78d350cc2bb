"""Read settings: one key for each dataclass field of a component, the same in TOML, as a variable and as a flag.

A component is a frozen dataclass next to the code that it configures. Its fields name the keys and hold their meaning
(`metadata["help"]`) and default; its `__post_init__` checks the values. Each fact is stated once.
"""

import dataclasses
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from nncache.net.setting_error import SettingError

ENVIRONMENT: Final = "NNCACHE_"
"""The prefix of the environment variables of settings."""

COMMA_SEPARATED = frozenset(
    {"namenode_http", "namenode_rpc", "real_ip_from", "yarn_forgotten", "yarn_rm", "zookeeper"}
)
"""Lists whose flag takes several values, separated by commas. Globs do not: `{a,b}` has a comma."""

_QUANTITY: Final = re.compile(r"(?P<number>\d{1,18}(?:\.\d{1,9})?)\s*(?P<unit>[A-Za-z]{0,5}|%)")


@dataclass(frozen=True, slots=True)
class Unit:
    """The quantity that a number stands for, and the units in which it can be written as a text."""

    metavar: str
    """What `--help` shows for it."""
    meaning: str
    """The end of "must be a number of ..."."""
    example: str
    factors: Mapping[str, Decimal]
    """The factor of each unit, by unit in lower case."""


_SIZES: Final = {"": Decimal(1), "b": Decimal(1)} | {
    f"{prefix}{end}": Decimal(1024**power)
    for power, prefix in enumerate("kmgt", 1)
    for end in ("", "b", "ib")
}
_DURATION: Final = Unit(
    "DURATION",
    "seconds",
    "10m",
    {
        unit: Decimal(factor)
        for unit, factor in {
            "": "1",
            "ms": "0.001",
            "s": "1",
            "sec": "1",
            "m": "60",
            "min": "60",
            "h": "3600",
            "d": "86400",
        }.items()
    },
)
_UNITS: Final[Mapping[str, Unit | None]] = {
    "_bytes_s": Unit("SIZE", "bytes a second", "16KiB", _SIZES),
    "_per_s": None,
    "_s": _DURATION,
    "_bytes": Unit("SIZE", "bytes", "2GiB", _SIZES),
    "_share": Unit("SHARE", "", "1%", {"": Decimal(1), "%": Decimal("0.01")}),
}
"""By suffix of a key's name. The first match counts."""

_STAND_IN = "stand-in-"
"""The prefix of an address that replaces an invalid one while other faults are looked for."""


class SettingKind(Enum):
    """The type of a setting. The value is what `--help` shows for it."""

    TEXT = "TEXT"
    WHOLE = "INTEGER"
    REAL = "NUMBER"
    SWITCH = "SWITCH"
    LIST = "LIST"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingKey:
    """One setting."""

    name: str
    """The name in the TOML file, such as `max_staleness_s`."""
    component: type
    kind: SettingKind
    choices: tuple[str, ...]
    """All allowed values, when the type itself lists them; else empty."""
    help: str
    default: object
    default_text: str
    """The default for people. A computed default is described, since its value depends on the machine."""

    @property
    def flag(self) -> str:
        """The flag on the command line, such as `--max-staleness-s`."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The variable of the environment, such as `NNCACHE_MAX_STALENESS_S`."""
        return ENVIRONMENT + self.name.upper()

    @property
    def unit(self) -> Unit | None:
        """The unit of a number; None for a number without a unit."""
        return unit_of(self.name) if self.kind in {SettingKind.WHOLE, SettingKind.REAL} else None

    @property
    def metavar(self) -> str:
        """What `--help` shows for the value."""
        return "|".join(self.choices) or (self.kind.value if self.unit is None else self.unit.metavar)

    @property
    def allowed(self) -> str:
        """The values that the type allows, as the end of a sentence."""
        if self.choices:
            return "must be one of " + ", ".join(self.choices)
        match self.kind:
            case SettingKind.TEXT:
                return "must be a text"
            case SettingKind.WHOLE | SettingKind.REAL:
                return _allowed(self.unit, "a whole number" if self.kind is SettingKind.WHOLE else "a number")
            case SettingKind.SWITCH:
                return "must be true or false"
            case SettingKind.LIST:
                return "must be a list of texts"


def unit_of(name: str) -> Unit | None:
    """Return the unit of a key with this name; None if it has none."""
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), None)


def _allowed(unit: Unit | None, number: str) -> str:
    if unit is None:
        return f"must be {number}"
    of_what = f" of {unit.meaning}" if unit.meaning else ""
    return f'must be {number}{of_what}, or one with a unit, such as "{unit.example}"'


def keys_of(components: Iterable[type]) -> tuple[SettingKey, ...]:
    """Return all keys of these components, in the order of their fields.

    Raises:
        TypeError: a programming error: a duplicate key, no help, no default, or a type that no file can hold.
    """
    found: dict[str, SettingKey] = {}
    for component in components:
        hints = get_type_hints(component)
        for field in dataclasses.fields(component):
            if field.name in found:
                message = (
                    f"{field.name} belongs to {found[field.name].component.__name__} and {component.__name__}"
                )
                raise TypeError(message)
            found[field.name] = _key(component, field, hints[field.name])
    return tuple(found.values())


def _key(component: type, field: "dataclasses.Field[Any]", hint: object) -> SettingKey:
    where = f"{component.__name__}.{field.name}"
    kind, choices = _kind(hint, where)
    if not field.metadata.get("help"):
        raise TypeError(f"{where} has no help")
    if field.default_factory is not dataclasses.MISSING:
        default: object = field.default_factory()
    else:
        default = field.default
    if default is dataclasses.MISSING:
        raise TypeError(f"{where} has no default")
    return SettingKey(
        name=field.name,
        component=component,
        kind=kind,
        choices=choices,
        help=field.metadata["help"],
        default=default,
        default_text=field.metadata.get("default", _text_of(default)),
    )


def _kind(hint: object, where: str) -> tuple[SettingKind, tuple[str, ...]]:
    if get_origin(hint) is Literal:
        return SettingKind.TEXT, tuple(map(str, get_args(hint)))
    kinds = {
        str: SettingKind.TEXT,
        int: SettingKind.WHOLE,
        float: SettingKind.REAL,
        bool: SettingKind.SWITCH,
        tuple[str, ...]: SettingKind.LIST,
    }
    for type_, kind in kinds.items():
        if hint == type_:
            return kind, ()
    raise TypeError(f"{where} has a type that a settings file cannot hold: {hint}")


def _text_of(default: object) -> str:
    match default:
        case bool():
            return str(default).lower()
        case tuple():
            return ", ".join(map(str, default)) or "none"
        case _:
            return str(default)


def unquoted(name: str, text: str) -> str:
    """Return how to write a quantity that is not a TOML value in the file; "" if the text is not a quantity."""
    if _QUANTITY.fullmatch(text) is None:
        return ""
    unit = unit_of(name)
    return _allowed(None, "a number") if unit is None else f'must stand in quotes: "{text}"'


def _number(key: SettingKey, text: str) -> int | float:
    """Read a number with a unit."""
    match, unit = _QUANTITY.fullmatch(text.strip()), key.unit
    factor = None if match is None or unit is None else unit.factors.get(match["unit"].lower())
    if match is None or factor is None:
        raise SettingError(key.name, text, key.allowed)
    number = Decimal(match["number"]) * factor
    if key.kind is SettingKind.REAL:
        return float(number)
    if number != int(number):
        raise SettingError(key.name, text, key.allowed)
    return int(number)


def from_toml(key: SettingKey, value: object) -> object:
    """Return a TOML value in the type of the key.

    Raises:
        SettingError: the value has another type, or is not one of the choices.
    """
    match key.kind, value:
        case (SettingKind.SWITCH, bool()) | (SettingKind.TEXT, str()):
            converted = value
        case (SettingKind.WHOLE | SettingKind.REAL, bool()):  # a bool is an int to Python, not to a reader
            raise SettingError(key.name, value, key.allowed)
        case (SettingKind.WHOLE, int()):
            converted = value
        case (SettingKind.REAL, int() | float()) if abs(value) <= sys.float_info.max:  # false for NaN, too
            converted = float(value)
        case (SettingKind.LIST, list()) if all(isinstance(item, str) for item in value):
            converted = tuple(value)
        case (SettingKind.WHOLE | SettingKind.REAL, str()) if key.unit is not None:
            converted = _number(key, value)
        case _:
            raise SettingError(key.name, value, key.allowed)
    if key.choices and converted not in key.choices:
        raise SettingError(key.name, value, key.allowed)
    return converted


def from_flag(key: SettingKey, value: object) -> object:
    """Return a value of the command line (text, several texts, or a bool) in the type of the key.

    Raises:
        SettingError: the text is not a value of this key.
    """
    match key.kind, value:
        case (SettingKind.LIST, tuple()) if key.name in COMMA_SEPARATED:
            return tuple(part.strip() for text in value for part in text.split(","))
        case (SettingKind.LIST, tuple()):
            return value
        case (SettingKind.WHOLE | SettingKind.REAL, str()):
            try:
                number = int(value) if key.kind is SettingKind.WHOLE else float(value)
            except ValueError:
                return _number(key, value)
            return from_toml(key, number)
        case _:
            return from_toml(key, value)


def from_variable(key: SettingKey, text: str) -> object:
    """Return the text of a variable in the type of the key, as `from_flag`. In a list, blanks separate the texts.

    Raises:
        SettingError: the text is not a value of this key.
    """
    match key.kind:
        case SettingKind.LIST:
            return from_flag(key, tuple(text.split()))
        case SettingKind.SWITCH if text.lower() in {"true", "false"}:
            return text.lower() == "true"
        case _:
            return from_flag(key, text)


def build(
    components: Iterable[type], values: Mapping[str, object]
) -> tuple[tuple[object, ...], tuple[SettingError, ...]]:
    """Return one object of each component, and all faults of the values that can be found.

    Values have the types of their keys. Absent values take their defaults. With faults, the objects must not be used.
    """
    parts, faults = [], []
    for component in components:
        own = {name: value for name, value in values.items() if name in _names(component)}
        wrong: set[str] = set()
        while True:
            try:
                parts.append(component(**own))
                break
            except SettingError as error:
                if error.key in wrong and (error.key not in own or _STAND_IN in str(error.value)):
                    break  # a consequence of the missing value, or of the earlier fault
                wrong.add(error.key)
                faults.append(error)
                if error.key not in own:
                    break  # a default is invalid, or keys contradict each other
                own = _without(own, error, len(faults))
    return tuple(parts), tuple(faults)


def _without(values: Mapping[str, object], fault: SettingError, number: int) -> dict[str, object]:
    """Return the values without this fault, which may hide others."""
    rest = {name: value for name, value in values.items() if name != fault.key}
    value = values[fault.key]
    if fault.key in COMMA_SEPARATED and isinstance(value, tuple) and fault.value in value:
        # A stand-in keeps lists that belong together equally long.
        rest[fault.key] = tuple(
            f"{_STAND_IN}{number}-{index}:1" if item == fault.value else item
            for index, item in enumerate(value)
        )
    return rest


def _names(component: type) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(component))
