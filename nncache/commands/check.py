"""`nncache check proxy` and `nncache check publisher`: try the settings of a daemon."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from nncache.commands.options import given, with_settings
from nncache.errors import ConfigurationError
from nncache.hadoop.paths import ROOT
from nncache.settings.clear_secrets import unread
from nncache.settings.commands import KEYS, PROXY, PUBLISHER
from nncache.settings.federation import fill_proxy
from nncache.settings.forms import Filled, Form

_EPILOG = (
    "Exit codes: 0, nothing failed; 1, something failed (with --strict, or a warning); 2, an option, a key or a value "
    "is wrong, as at the start of the daemon."
)
_with_config = click.option(
    "--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it."
)
_with_strict = click.option("--strict", is_flag=True, help="Let warnings fail, too.")
_with_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(epilog=_EPILOG, short_help="Try a daemon's settings, before its start or beside it.")
def check() -> None:
    """Try the settings of a daemon, before it is started or while it runs.

    Put `check` before the words with which the daemon is started: `nncache check proxy --config FILE`. Nothing is
    written anywhere; it ends within about 10 seconds, whatever is silent.
    """


@with_settings(PROXY.keys.values())
@check.command(epilog=_EPILOG)
@_with_strict
@_with_json
@_with_config
def proxy(*, strict: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """Try the settings of `nncache proxy`."""
    _run(PROXY, config, flags, strict=strict, as_json=as_json)


@with_settings(PUBLISHER.keys.values())
@check.command(epilog=_EPILOG)
@_with_strict
@_with_json
@_with_config
def publisher(*, strict: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """Try the settings of `nncache publisher`."""
    _run(PUBLISHER, config, flags, strict=strict, as_json=as_json)


def _run(
    form: Form[Any], config: Path | None, flags: dict[str, object], *, strict: bool, as_json: bool
) -> None:
    """Print what is found, and exit."""
    from nncache.checks.finding import failed, ok, warning  # noqa: PLC0415 - --help loads no client
    from nncache.checks.subject import Subject  # noqa: PLC0415 - as above
    from nncache.checks.table import SETTINGS, CheckResult, exit_code, judged  # noqa: PLC0415 - as above
    from nncache.commands.check_wiring import as_json as rendered  # noqa: PLC0415 - as above
    from nncache.commands.check_wiring import gathered, waiting  # noqa: PLC0415 - as above

    began = time.monotonic()
    try:
        filled, mounts = _filled(form, config, given(flags))
    except ConfigurationError as error:
        wrong = tuple(failed(line, "") for line in error.lines)
        results: tuple[CheckResult, ...] = (CheckResult(SETTINGS, wrong),)
        code = ConfigurationError.exit_code
    else:
        where = "no file" if config is None else str(config)
        ignored = unread(os.environ, {*KEYS, "config"})
        warnings = (warning(line, "unset it, and write it there") for line in ignored)
        results = (
            CheckResult(SETTINGS, (ok(f"{where} and {len(given(flags))} flags can be read"), *warnings)),
        )
        with waiting() as tell:
            for name, each in filled.items():
                subject = Subject(each.settings, each.places, mounts.get(name, ROOT))
                results += judged(gathered(subject, tell), name)
        code = exit_code(results, strict=strict)
    if as_json:
        click.echo(rendered(results, code))
    else:
        _print(results, time.monotonic() - began)
    sys.exit(code)


def _filled(
    form: Form[Any], config: Path | None, flags: dict[str, object]
) -> tuple[Mapping[str, Filled[Any]], Mapping[str, str]]:
    """Return the settings by namespace, and the first path that each holds; of one alone its name is "", and no path.

    Raises:
        ConfigurationError: as at the start of the daemon.
    """
    if form is not PROXY:
        return {"": form.fill_in(config, flags, KEYS)}, {}
    filled, table = fill_proxy(config, flags)
    points = {} if table is None else table.points
    return filled, {name: point for point, name in reversed(tuple(points.items()))}


def _print(results: Any, seconds: float) -> None:  # noqa: ANN401 - tuple[Result, ...], which is loaded late
    from nncache.commands.check_wiring import lines, summary  # noqa: PLC0415 - as above

    for verdict, colour, rest in lines(results):
        click.echo(click.style(verdict, fg=colour) + " " + rest)
    click.echo(summary(results, seconds))
