"""The settings of one command: a form, filled in from a TOML file, the environment and flags.

A form is a frozen dataclass whose fields are components. Its `__post_init__` checks them against each other.
"""

import dataclasses
import difflib
import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, get_type_hints

from nncache.errors import ConfigurationError
from nncache.hadoop.mounts import KEY
from nncache.net.setting_error import SettingError
from nncache.settings import clear_secrets
from nncache.settings.keys import SettingKey, build, from_flag, from_toml, from_variable, keys_of, unquoted
from nncache.settings.namespaces import (
    CHOICE,
    IDENTITY,
    TABLES,
    NamespaceTables,
    namespaces_of,
    own_keys_at_the_top,
    written_in,
)

SettingsT = TypeVar("SettingsT")

_LINE: Final = re.compile(r"at line (\d+)")
_ASSIGNMENT: Final = re.compile(r"""\s*["']?(?P<key>[A-Za-z0-9_.-]+)["']?\s*=\s*(?P<value>[^#]*)""")


@dataclass(frozen=True, slots=True)
class Supplement:
    """Values for keys that are set neither in the file nor in the environment nor by a flag.

    Attributes:
        values: by key, in the type of the key.
        origin: the source of the values, for messages.
    """

    values: Mapping[str, object]
    origin: str


Supply = Callable[[Mapping[str, object], Collection[str]], Supplement]
"""Returns values for other keys, from the given values and the keys of a form. May raise ConfigurationError."""

View = Callable[[Mapping[str, object]], tuple[Mapping[str, str], str]]
"""Returns the clients' mount table and its directory, from the given values. May raise ConfigurationError."""


class Form(Generic[SettingsT]):
    """The settings of one command; `settings` is a dataclass with one component and a `heading` for each field."""

    def __init__(
        self,
        command: str,
        settings: type[SettingsT],
        supply: Supply | None = None,
        view: View | None = None,
        of_all: Collection[str] = (),
    ) -> None:
        """Collect the keys of the form. The keys `of_all` have one value for all namespaces."""
        self._supply = supply
        self._view = view
        self._of_all = of_all
        self.command = command  # as it is typed: `proxy`
        self.settings = settings
        fields, hints = dataclasses.fields(settings), get_type_hints(settings)  # type: ignore[arg-type] # it is a dataclass
        self.components: Mapping[str, type] = {field.name: hints[field.name] for field in fields}
        self.headings: Mapping[str, str] = {field.name: field.metadata["heading"] for field in fields}
        self.keys: Mapping[str, SettingKey] = {
            key.name: key for key in keys_of(self.components.values())
        }  # by name

    def fill_in(
        self, config: Path | None, flags: Mapping[str, object], keys_of_others: Collection[str] = ()
    ) -> "FilledForm[SettingsT]":
        """Return the settings with which a command starts, with the source of each value.

        `flags` holds only the flags that were given. Flags take precedence over variables of the environment, then come
        the file, supplied values and defaults. The file may hold `keys_of_others`, which are ignored: one file serves
        every command of a host, as an hdfs-site.xml serves all its daemons.

        Raises:
            ConfigurationError: a line for each fault that can be found, with the key, its value and the allowed values;
                and with the file, if the value is from a file.
        """
        table = {} if config is None else _read(config)
        known = {*self.keys, *keys_of_others}
        flat = {name: value for name, value in table.items() if name not in {TABLES, KEY}}
        faults = _unknown(flat, str(config), known)
        variables = self._variables(flags)
        given_now = {**variables, **flags}
        namespaces = self._namespaces(table, config, given_now, known)
        chosen = (
            _chosen(namespaces, str(given_now.get(CHOICE, table.get(CHOICE, ""))))
            if CHOICE in self.keys
            else ""
        )
        own: Mapping[str, object] = {} if namespaces is None else namespaces.tables[chosen]
        in_file = {**table, **own}
        from_file = {
            name: value for name, value in in_file.items() if name in self.keys and name not in given_now
        }
        its_table = f"[{TABLES}.{chosen}] of {config}"
        origins = {name: its_table if name in own else str(config) for name in from_file}
        places = (
            {name: f"{name} in {its_table}" for name in IDENTITY} if chosen and config is not None else {}
        )
        places |= {name: f"{name} in {origin}" for name, origin in origins.items()}
        places |= {name: self.keys[name].variable for name in variables}
        places |= {name: self.keys[name].flag for name in flags}

        def fault(error: SettingError) -> str:
            if error.key in from_file:
                return f"{error} (in {origins[error.key]})"
            if error.key in variables:
                return f"{error} (in {self.keys[error.key].variable})"
            return f"{error} (in {supplement.origin})" if error.key in supplement.values else str(error)

        values: dict[str, object] = {}
        supplement = Supplement({}, "")
        sources: tuple[tuple[Callable[[SettingKey, Any], object], Mapping[str, object]], ...] = (
            (from_toml, from_file),
            (from_variable, variables),
            (from_flag, flags),
        )
        for read, given in sources:
            for name, value in given.items():
                try:
                    values[name] = read(self.keys[name], value)
                except SettingError as error:
                    faults.append(fault(error))
        if chosen:
            values.setdefault("nameservice", chosen)
        if self._supply is not None and not faults:  # faulty values could mislead it
            try:
                supplement = self._supply(values, self.keys)
            except ConfigurationError as error:
                faults += error.lines
        places |= {name: f"{name} (read from {supplement.origin})" for name in supplement.values}
        parts, wrong = build(self.components.values(), {**supplement.values, **values})
        faults += map(fault, wrong)
        if faults:
            raise ConfigurationError(*faults)
        try:
            settings = self.settings(**dict(zip(self.components, parts, strict=True)))
        except SettingError as error:
            raise ConfigurationError(fault(error)) from error
        return FilledForm(
            settings,
            {  # a key that is not set can be set in the file, if there is one
                name: places.get(name, key.flag if config is None else f"{name} in {config}")
                for name, key in self.keys.items()
            },
        )

    def namespaces(
        self, config: Path | None, flags: Mapping[str, object], keys_of_others: Collection[str] = ()
    ) -> NamespaceTables | None:
        """Return the namespaces of the file or of `core-site.xml`; None if there is only one, or one is chosen.

        Raises:
            ConfigurationError: the namespaces contradict each other.
        """
        table = {} if config is None else _read(config)
        given_now = {**self._variables(flags), **flags}
        if {**table, **given_now}.get(CHOICE):
            return None
        return self._namespaces(table, config, given_now, {*self.keys, *keys_of_others})

    def _variables(self, flags: Mapping[str, object]) -> dict[str, str]:
        """Return the environment variables in effect, by key: not empty, and not overridden by a flag."""
        found = {name: os.environ.get(key.variable, "") for name, key in self.keys.items()}
        return {name: text for name, text in found.items() if text and name not in flags}

    def _namespaces(
        self,
        table: Mapping[str, object],
        config: Path | None,
        flags: Mapping[str, object],
        known: Collection[str],
    ) -> NamespaceTables | None:
        if CHOICE not in self.keys:
            return None  # the command asks a daemon, which knows its namespaces
        tables, mounts = written_in(table, config)
        viewfs, origin = ({}, "") if self._view is None or mounts else self._view({**table, **flags})
        found = namespaces_of(tables, mounts, viewfs, config, origin)
        if found is None:
            return None
        faults = [line for line in (own_keys_at_the_top(table), own_keys_at_the_top(flags)) if line]
        for name, own in found.tables.items():
            assert config is not None or not own
            where = f"{config}: [{TABLES}.{name}]"
            faults += _unknown(own, where, known)
            faults += (
                f"{where}: {key}: must stand at the top: it is the same for all"
                for key in own
                if key in self._of_all
            )
        if faults:
            raise ConfigurationError(*faults)
        return found


@dataclass(frozen=True, slots=True)
class FilledForm(Generic[SettingsT]):
    """The settings with which a command starts.

    Attributes:
        settings: the settings.
        places: by key, where its value can be changed: a flag, a variable, or a key of the file.
    """

    settings: SettingsT
    places: Mapping[str, str]


class Loading(Generic[SettingsT]):
    """Loads settings at start and at reloads. Refuses a file that has become empty: its writer has not finished."""

    def __init__(self, config: Path | None, load: Callable[[], SettingsT]) -> None:
        """Load with `load`, which reads the file `config`."""
        self._config = config
        self._load = load
        self._had_keys = False  # whether the file had keys when it was last loaded

    def __call__(self) -> SettingsT:
        """Return the settings.

        Raises:
            ConfigurationError: as `load`; or the file has become empty.
        """
        has_keys = self._config is not None and bool(_read(self._config))
        if self._had_keys and not has_keys:
            raise ConfigurationError(
                f"{self._config}: is empty, and was not when it was last read: send SIGHUP again when it is written "
                "(write another file and rename it, so that no half is read); to go on without settings, restart"
            )
        loaded = self._load()
        self._had_keys = has_keys
        return loaded


def _unknown(table: Mapping[str, object], where: str, known: Collection[str]) -> list[str]:
    """Return an error for each key that no command has."""
    faults = []
    for name, value in table.items():
        if name in known:
            continue
        if isinstance(value, dict):
            faults.append(f"{where}: [{name}]: tables have no meaning here; all keys are at the top")
            continue
        if advice := clear_secrets.in_settings(name, known):
            faults.append(f"{where}: {advice}")
            continue
        nearest = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.0)
        faults.append(f"{where}: {name}: no such key; the nearest is {nearest[0]}")
    return faults


def _chosen(namespaces: NamespaceTables | None, choice: str) -> str:
    if namespaces is None:
        if choice:
            raise ConfigurationError(
                f"{CHOICE}: {choice}: the settings have no [{TABLES}.NAME] to choose from"
            )
        return ""
    try:
        return namespaces.chosen(choice)
    except SettingError as error:
        raise ConfigurationError(f"{error} (in {namespaces.origin})") from error


def _read(config: Path) -> dict[str, object]:
    """Return the keys of the file."""
    text = ""
    try:
        text = config.read_text(encoding="utf-8-sig")  # Windows editors put a BOM before it
        table: dict[str, object] = tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(f"{config}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, UnicodeDecodeError, nested too deep
        raise ConfigurationError(f"{config}: is not TOML: {error}{_advice(text, str(error))}") from error
    return table


def _advice(text: str, error: str) -> str:
    """Return advice about a line that is not TOML. It names only the key, since the value may be a secret."""
    at = _LINE.search(error)
    line = text.splitlines()[int(at[1]) - 1 :][:1] if at else []
    match = _ASSIGNMENT.match(line[0]) if line else None
    if match is None:
        return ""
    if "overwrite" in error:
        return f": {match['key']} is there twice: remove one"
    if advice := unquoted(match["key"], match["value"].strip()):
        return f": {match['key']} {advice}"
    return f": {match['key']}: a text must stand in quotes, a list in []"
