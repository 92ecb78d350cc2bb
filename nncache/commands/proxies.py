"""`nncache proxies`: the proxies that are registered."""

from pathlib import Path

import click

from nncache.commands.options import given, with_settings
from nncache.settings.commands import PROXIES, load_settings


@with_settings(PROXIES.keys.values())
@click.command(short_help="List the registered proxies and publishers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it.")
def proxies(*, as_json: bool, config: Path | None, **flags: object) -> None:
    """List the proxies and publishers that are registered, and ask each for its state.

    One line for each: its name in the service registry, its state as its page /ready says, where it is reached. They
    register with --registry.
    """
    settings = load_settings(PROXIES, config, given(flags))
    from nncache.commands.proxies_view import list_proxies  # noqa: PLC0415 - a wrong setting loads no client

    list_proxies(settings, as_json=as_json)
