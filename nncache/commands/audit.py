"""`nncache audit`: compare a proxy's answers from memory with the NameNode's."""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import click

from nncache.commands.admin_client import AdminPort, admin_port_of
from nncache.commands.audit_client import HttpSides, lines, proxy_of, report_as_json
from nncache.commands.audit_questions import Questions, paced
from nncache.commands.options import given, with_json, with_settings
from nncache.errors import AdminError, ConfigurationError, NotAuditedError
from nncache.hadoop.paths import InvalidPathError, canonical
from nncache.net.endpoint import parse_endpoint
from nncache.net.setting_error import SettingError
from nncache.settings.commands import AUDIT, load_settings

_EPILOG = (
    "Exit codes, as of diff(1): 0, no answer was wrong; 1, some were; 2, that is not known: nothing could be compared, "
    "or the proxy could not prove that it knows all changes."
)


@with_settings(AUDIT.keys.values())
@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--filter", "filter_", metavar="NAME|GLOB", help="Choose among the paths that this filter matches."
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="NUMBER",
    help="Questions a second; each is one call to the NameNode.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="NUMBER",
    help="How long to go on.",
)
@click.option(
    "--proxy",
    "proxy_at",
    metavar="TEXT",
    help="host:port at which the proxy serves clients.  [default: as the proxy says]",
)
@with_json
def audit(
    paths: tuple[str, ...],
    filter_: str | None,
    *,
    rate: float,
    seconds: float,
    proxy_at: str | None,
    as_json: bool,
    config: Path | None,
    **flags: object,
) -> None:
    """Compare what a running proxy answers from memory with what the NameNode says.

    Asks both about the same paths: those given, again and again, or such as the proxy holds, chosen by chance. A
    difference alone is no fault, as the path may have changed in between: an answer is wrong only if the proxy still
    holds it after it has proven that all changes are applied. Ctrl-C ends it early; the verdict is about what was asked
    until then.
    """
    if paths and filter_ is not None:
        raise click.UsageError("give PATHs or --filter NAME|GLOB, one of the two")
    try:
        places = tuple(map(canonical, paths))
    except InvalidPathError as error:
        raise click.UsageError(str(error)) from error
    settings = load_settings(AUDIT, config, given(flags))
    admin = admin_port_of(settings.proxy)
    try:
        status = admin.status_of_proxy()
        proxy = proxy_of(status, admin.endpoint) if proxy_at is None else parse_endpoint("--proxy", proxy_at)
        if not places:
            held_paths(admin, filter_)  # says so if there is no such filter
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    except AdminError as error:
        raise NotAuditedError(str(error)) from error
    bound_s = status["gate"]["max_staleness_s"]
    questions = Questions(
        HttpSides(admin, proxy, settings.caller.user), max_staleness_s=bound_s, pause=time.sleep
    )

    def choose() -> Sequence[str]:
        with suppress(AdminError):  # it answered before: it may be restarting
            return places or held_paths(admin, filter_)
        return ()

    try:
        for path in paced(choose, per_s=rate, for_s=seconds):
            questions.ask(path)
    except KeyboardInterrupt:
        click.echo("ended early", err=True)
    report = questions.report
    click.echo(json.dumps(report_as_json(report), indent=2) if as_json else "\n".join(lines(report)))
    sys.exit(report.exit_code)


def held_paths(admin: AdminPort, filter_: str | None) -> Sequence[str]:
    """Return some of the paths that the proxy holds.

    Raises:
        AdminError: it did not say so; no such filter may be in force.
    """
    query = {} if filter_ is None else {"filter": filter_}
    found: list[str] = admin.ask("/sample?" + urlencode(query, errors="surrogateescape"))["paths"]
    return found
