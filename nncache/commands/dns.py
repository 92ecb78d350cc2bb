"""`nncache dns`: read the settings and run."""

from functools import partial
from pathlib import Path

import click

from nncache.commands.options import given, with_settings
from nncache.errors import StartError
from nncache.settings.commands import DNS, load_settings
from nncache.settings.forms import Loading


@with_settings(DNS.keys.values())
@click.command(short_help="Serve the service registry as DNS.")
@click.option("--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it.")
def dns(config: Path | None, **flags: object) -> None:
    """Serve the service registry as DNS, read-only, until SIGTERM or SIGINT.

    Needs the extra `dns`: pip install '.[dns]' in the checkout.
    """
    load = Loading(config, partial(load_settings, DNS, config, given(flags)))
    settings = load()
    try:
        from nncache.daemons.dns_wiring import run_dns  # noqa: PLC0415 - as for the proxy; and dnspython is an extra
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] != "dns":
            raise
        raise StartError("nncache dns needs PyPI's dnspython: pip install '.[dns]' in the checkout") from exc
    run_dns(settings, load)
