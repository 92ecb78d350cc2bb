"""`nncache proxy`: read the settings and run."""

from functools import partial
from pathlib import Path
from typing import Final

import click

from nncache.commands.globbing import GlobCommand
from nncache.commands.options import given, with_form
from nncache.settings.commands import PROXY
from nncache.settings.federation import load_proxy
from nncache.settings.forms import Loading

ESSENTIAL: Final = (
    "listen", "tls_listen", "tls_certificate", "tls_key", "admin", "hadoop_conf_dir", "nameservice", "namenode_http",
    "namenode_rpc", "user", "principal", "keytab", "spnego_principal", "spnego_keytab", "glob", "max_staleness_s",
    "channel", "zookeeper", "registry", "log_level", "access_log",
)  # fmt: skip
"""What most proxies are started with, of more than a hundred settings."""


@with_form(PROXY, ESSENTIAL)
@click.command(cls=GlobCommand)
@click.option("--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it.")
def proxy(config: Path | None, **flags: object) -> None:
    """Serve WebHDFS in front of a NameNode until SIGTERM or SIGINT."""
    load = Loading(config, partial(load_proxy, config, given(flags)))
    settings = load()
    from nncache.daemons.proxy_process import run_proxy  # noqa: PLC0415 - --help and a wrong setting load no server

    run_proxy(settings, load)
