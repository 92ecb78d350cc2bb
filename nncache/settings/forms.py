"""What one command may be told: a form, filled in from a TOML file and from flags. (nncache/settings/forms.py)

A form is a frozen dataclass whose fields are components; its `__post_init__` says what must fit together.
"""

import dataclasses
import difflib
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, get_type_hints

from nncache.errors import ConfigurationError
from nncache.hadoop.settings import SettingError
from nncache.settings.keys import Key, build, from_flag, from_toml, keys_of

SettingsT = TypeVar("SettingsT")


@dataclass(frozen=True, slots=True)
class Supplement:
    """What holds where neither the file nor a flag says anything.

    Attributes:
        values: by key, in the type of each.
        origin: where they come from, for messages.
    """

    values: Mapping[str, object]
    origin: str


Supply = Callable[[Mapping[str, object], Collection[str]], Supplement]
"""Given what was said and the keys of a form, find what else is known; may raise a ConfigurationError."""


class Form(Generic[SettingsT]):
    """The settings of one command; `settings` is a dataclass with one component and a `heading` for each field."""

    def __init__(self, command: str, settings: type[SettingsT], supply: Supply | None = None) -> None:
        self._supply = supply
        self.command = command  # as it is typed: `proxy`
        self.settings = settings
        self.components = _components(settings)  # field -> component
        self.headings = _headings(settings)  # field -> what docs/settings.md calls the component
        self.keys: Mapping[str, Key] = {key.name: key for key in keys_of(self.components.values())}  # by name

    def fill(
        self, config: Path | None, flags: Mapping[str, object], keys_of_others: Collection[str] = ()
    ) -> SettingsT:
        """Return the settings of a start; `flags` holds only what was given on the command line.

        A flag wins over the file, the file over what is supplied, that over the default. `keys_of_others` may stand
        in the file, too, and mean nothing here: one file serves every command of a host, as an hdfs-site.xml serves
        all its daemons.

        Raises:
            ConfigurationError: one line that names key, value and what is allowed; the file, too, if it came
                from there.
        """
        from_file = {} if config is None else self._read(config, keys_of_others)
        supplement = Supplement({}, "")
        try:
            values = {
                name: from_toml(self.keys[name], value)
                for name, value in from_file.items()
                if name not in flags
            }
            values |= {name: from_flag(self.keys[name], value) for name, value in flags.items()}
            if self._supply is not None:
                supplement = self._supply(values, self.keys)
            parts = build(self.components.values(), {**supplement.values, **values})
            return self.settings(**dict(zip(self.components, parts, strict=True)))
        except SettingError as error:
            origin = ""
            if error.key in from_file and error.key not in flags:
                origin = f" (in {config})"
            elif error.key in supplement.values and error.key not in flags:
                origin = f" (in {supplement.origin})"
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
