"""`nncache proxy`, `publisher` and `dns`: read the settings and run."""

from functools import partial
from pathlib import Path
from typing import Final

import click

from nncache.commands.options import GlobCommand, GroupedHelp, given, with_form, with_settings
from nncache.errors import StartError
from nncache.settings.commands import DNS, PROXY, PUBLISHER, load_settings
from nncache.settings.federation import load_proxy
from nncache.settings.forms import Loading


@with_settings(DNS.keys.values())
@click.command()
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


ESSENTIAL_OF_PUBLISHER: Final = (
    "admin", "hadoop_conf_dir", "nameservice", "namenode_http", "namenode_rpc", "user", "principal", "keytab",
    "filters_path", "zookeeper", "zookeeper_sasl", "registry", "log_level",
)  # fmt: skip
"""The settings of most publishers."""


@with_form(PUBLISHER, ESSENTIAL_OF_PUBLISHER)
@click.command(cls=GroupedHelp)
def publisher(config: Path | None, **flags: object) -> None:
    """Publish HDFS changes of filtered paths in ZooKeeper until SIGTERM or SIGINT."""
    load = Loading(config, partial(load_settings, PUBLISHER, config, given(flags)))
    settings = load()
    from nncache.daemons.publisher_wiring import run_publisher  # noqa: PLC0415 - as for the proxy

    run_publisher(settings, load)


ESSENTIAL_OF_PROXY: Final = (
    "listen", "tls_listen", "tls_certificate", "tls_key", "admin", "hadoop_conf_dir", "nameservice", "namenode_http",
    "namenode_rpc", "user", "principal", "keytab", "spnego_principal", "spnego_keytab", "glob", "max_staleness_s",
    "channel", "zookeeper", "registry", "log_level", "access_log",
)  # fmt: skip
"""The settings of most proxies, out of more than a hundred."""


@with_form(PROXY, ESSENTIAL_OF_PROXY)
@click.command(cls=GlobCommand)
def proxy(config: Path | None, **flags: object) -> None:
    """Serve WebHDFS in front of a NameNode until SIGTERM or SIGINT."""
    load = Loading(config, partial(load_proxy, config, given(flags)))
    settings = load()
    from nncache.daemons.proxy_process import run_proxy  # noqa: PLC0415 - --help and a wrong setting load no server

    run_proxy(settings, load)
