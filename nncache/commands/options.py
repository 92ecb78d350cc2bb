"""Make command line options of the settings. (nncache/commands/options.py)

Values are taken as text and read by `nncache/settings/keys.py`, as those of the file are: errors look the same.
"""

from collections.abc import Callable, Iterable
from typing import Any

import click

from nncache.errors import ConfigurationError
from nncache.settings import clear_secrets
from nncache.settings.keys import Key, Kind

Command = Callable[..., Any]


def option_of(key: Key) -> click.Option:
    """Return the option of one setting; what is not given is None (or empty), never the default."""
    match key.kind:
        case Kind.SWITCH:
            return click.Option([f"{key.flag}/--no-{key.flag[2:]}"], default=None, help=_help(key))
        case Kind.LIST:
            return click.Option([key.flag], multiple=True, metavar=_metavar(key), help=_help(key))
        case _:
            return click.Option([key.flag], metavar=_metavar(key), help=_help(key))


def _metavar(key: Key) -> str:
    return "|".join(key.choices) if key.choices else key.kind.value


def _help(key: Key) -> str:
    return f"{key.help}  [default: {key.default_text}]"


def given(parameters: dict[str, object]) -> dict[str, object]:
    """Keep what was said on the command line."""
    return {name: value for name, value in parameters.items() if value is not None and value != ()}


def with_settings(keys: Iterable[Key]) -> Callable[[click.Command], click.Command]:
    """Return a decorator that gives a click command one option per key."""

    def add(command: click.Command) -> click.Command:
        ours = tuple(keys)
        command.params.extend(option_of(key) for key in ours)
        command.params.extend(map(_refused, clear_secrets.clear_keys(key.name for key in ours)))
        return command

    return add


def _refused(key: str) -> click.Option:
    """Return an option that would hold a secret, which is no setting: its value is shown nowhere."""

    def refuse(_: click.Context, __: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise ConfigurationError(clear_secrets.on_command_line(key))

    return click.Option([clear_secrets.flag_of(key)], hidden=True, expose_value=False, callback=refuse)
