"""`nncache proxy`: read the settings and run. (nncache/commands/proxy.py)"""

from functools import partial
from pathlib import Path

import click

from nncache.commands.globbing import GlobCommand
from nncache.commands.options import given, with_settings
from nncache.settings.commands import PROXY
from nncache.settings.federation import load_proxy
from nncache.settings.forms import Loading


@with_settings(PROXY.keys.values())
@click.command(cls=GlobCommand)
@click.option("--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it.")
def proxy(config: Path | None, **flags: object) -> None:
    """Serve WebHDFS in front of a NameNode until SIGTERM or SIGINT."""
    load = Loading(config, partial(load_proxy, config, given(flags)))
    settings = load()
    from nncache.daemons.proxy_process import run_proxy  # noqa: PLC0415 - --help and a wrong setting load no server

    run_proxy(settings, load)
