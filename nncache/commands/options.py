"""Create command line options from the settings.

Options take text, which `nncache/settings/keys.py` parses as it parses values of the file: errors look the same.
"""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import click

from nncache.errors import ConfigurationError
from nncache.settings import clear_secrets
from nncache.settings.forms import Form
from nncache.settings.keys import ENVIRONMENT, SettingKey, SettingKind, keys_of


def option_of(key: SettingKey) -> "SettingOption":
    """Return the option of one setting. If it is not given, its value is None (or empty), never the default."""
    match key.kind:
        case SettingKind.SWITCH:
            return SettingOption([f"{key.flag}/--no-{key.flag[2:]}"], default=None, help=_help(key))
        case SettingKind.LIST:
            return SettingOption([key.flag], multiple=True, metavar=key.metavar, help=_help(key))
        case _:
            return SettingOption([key.flag], metavar=key.metavar, help=_help(key))


class SettingOption(click.Option):
    """The option of a setting: its heading in the help, and whether `--help` or only `--help-all` shows it."""

    heading: str = "Options"
    is_essential: bool = True


class GroupedHelp(click.Command):
    """A command with many settings. `--help` shows the essential ones, `--help-all` all, under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that are not settings, then the settings in the order of docs/settings.md."""
        groups: dict[str, list[tuple[str, str]]] = {}
        left_out = 0
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is None:
                continue
            heading = option.heading if isinstance(option, SettingOption) else "Options"
            if isinstance(option, SettingOption) and not option.is_essential and _SHOW_ALL not in ctx.meta:
                left_out += 1
            else:
                groups.setdefault(heading, []).append(record)
        groups = {"Options": groups.pop("Options", []), **groups}
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{left_out} more settings: --help-all, or docs/settings.md.")


_SHOW_ALL = "nncache.help_all"


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    if value:
        ctx.meta[_SHOW_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def with_form(form: Form[Any], essential: Collection[str]) -> Callable[[click.Command], click.Command]:
    """Return a decorator that adds one option per setting of a daemon to a `GroupedHelp` command."""

    def add(command: click.Command) -> click.Command:
        help_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show all settings and exit.",
        )
        with_settings(form.keys.values())(command)
        command.params.append(help_all)
        by_name = {option.name: option for option in command.params if isinstance(option, SettingOption)}
        for field, component in form.components.items():
            for key in keys_of([component]):
                by_name[key.name].heading = form.headings[field]
                by_name[key.name].is_essential = key.name in essential
        return command

    return add


def _help(key: SettingKey) -> str:
    return f"{key.help}  [default: {key.default_text or 'empty'}]"


def given(parameters: dict[str, object]) -> dict[str, object]:
    """Return the parameters that were given on the command line."""
    return {name: value for name, value in parameters.items() if value is not None and value != ()}


with_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def with_settings(keys: Iterable[SettingKey]) -> Callable[[click.Command], click.Command]:
    """Return a decorator that adds one option per key, and `--config` for the file, to a click command."""

    def add(command: click.Command) -> click.Command:
        ours, file = tuple(keys), click.Path(path_type=Path)
        command.params.append(
            click.Option(
                ["--config"],
                type=file,
                envvar=f"{ENVIRONMENT}CONFIG",
                help="TOML file of settings; flags and environment variables (NNCACHE_KEY) take precedence.",
            )
        )
        command.params.extend(option_of(key) for key in ours)
        command.params.extend(map(_refused, clear_secrets.clear_keys(key.name for key in ours)))
        return command

    return add


def _refused(key: str) -> click.Option:
    """Return an option that refuses a secret on the command line. Its value is shown nowhere."""

    def refuse(_: click.Context, __: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise ConfigurationError(clear_secrets.on_command_line(key))

    return click.Option([clear_secrets.flag_of(key)], hidden=True, expose_value=False, callback=refuse)


HINT = (
    "a shell expands a glob that is not quoted into the files that it finds here: quote it, as in "
    "--glob '/user/*/_SUCCESS'"
)


class GlobCommand(GroupedHelp):
    """A command that gives advice if the shell has expanded a glob to several arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments as click does, and add advice to its usage errors."""
        has_glob = any(each.partition("=")[0] == "--glob" for each in args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if has_glob and not isinstance(error, click.NoSuchOption | click.BadParameter):
                raise click.UsageError(f"{error.message.rstrip('.')}: {HINT}.", ctx) from error
            raise
