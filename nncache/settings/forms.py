"""What one command may be told: a form, filled in from a TOML file and from flags. (nncache/settings/forms.py)

A form is a frozen dataclass whose fields are components; its `__post_init__` says what must fit together.
"""

import dataclasses
import difflib
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Generic, TypeVar, get_type_hints

from nncache.errors import ConfigurationError
from nncache.hadoop.settings import SettingError
from nncache.settings.keys import Key, build, from_flag, from_toml, keys_of

SettingsT = TypeVar("SettingsT")


class Form(Generic[SettingsT]):
    """The settings of one command; `settings` is a dataclass with one component and a `heading` for each field."""

    def __init__(self, command: str, settings: type[SettingsT]) -> None:
        self.command = command  # as it is typed: `proxy`
        self.settings = settings
        self.components = _components(settings)  # field -> component
        self.headings = _headings(settings)  # field -> what docs/settings.md calls the component
        self.keys: Mapping[str, Key] = {key.name: key for key in keys_of(self.components.values())}  # by name

    def fill(
        self, config: Path | None, flags: Mapping[str, object], keys_of_others: Collection[str] = ()
    ) -> SettingsT:
        """Return the settings of a start; `flags` holds only what was given on the command line.

        A flag wins over the file, the file over the default. `keys_of_others` may stand in the file, too, and
        mean nothing here: one file serves every command of a host, as an hdfs-site.xml serves all its daemons.

        Raises:
            ConfigurationError: one line that names key, value and what is allowed; the file, too, if it came
                from there.
        """
        from_file = {} if config is None else self._read(config, keys_of_others)
        try:
            values = {
                name: from_toml(self.keys[name], value)
                for name, value in from_file.items()
                if name not in flags
            }
            values |= {name: from_flag(self.keys[name], value) for name, value in flags.items()}
            parts = build(self.components.values(), values)
            return self.settings(**dict(zip(self.components, parts, strict=True)))
        except SettingError as error:
            origin = f" (in {config})" if error.key in from_file and error.key not in flags else ""
            raise ConfigurationError(f"{error}{origin}") from error

    def _read(self, config: Path, keys_of_others: Collection[str]) -> dict[str, object]:
        """Return the values of the file that are meant for this command."""
        try:
            table: dict[str, object] = tomllib.loads(config.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigurationError(f"{config}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:  # TOMLDecodeError, UnicodeDecodeError, nested too deep
            raise ConfigurationError(f"{config}: is not TOML: {error}") from error
        known = {*self.keys, *keys_of_others}
        for name, value in table.items():
            if name in known:
                continue
            if isinstance(value, dict):
                raise ConfigurationError(
                    f"{config}: [{name}]: tables have no meaning here; all keys are at the top"
                )
            nearest = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.0)
            raise ConfigurationError(f"{config}: {name}: no such key; the nearest is {nearest[0]}")
        return {name: value for name, value in table.items() if name in self.keys}


def _components(settings: type) -> dict[str, type]:
    hints = get_type_hints(settings)
    return {field.name: hints[field.name] for field in dataclasses.fields(settings)}


def _headings(settings: type) -> dict[str, str]:
    return {field.name: field.metadata["heading"] for field in dataclasses.fields(settings)}
