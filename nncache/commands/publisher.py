"""`nncache publisher`: read the settings and run."""

from functools import partial
from pathlib import Path
from typing import Final

import click

from nncache.commands.options import GroupedHelp, given, with_form
from nncache.settings.commands import PUBLISHER, load_settings
from nncache.settings.forms import Loading

ESSENTIAL: Final = (
    "admin", "hadoop_conf_dir", "nameservice", "namenode_http", "namenode_rpc", "user", "principal", "keytab",
    "filters_path", "zookeeper", "zookeeper_sasl", "registry", "log_level",
)  # fmt: skip
"""What most publishers are started with."""


@with_form(PUBLISHER, ESSENTIAL)
@click.command(cls=GroupedHelp, short_help="Publish changes of filtered paths in ZooKeeper.")
@click.option("--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it.")
def publisher(config: Path | None, **flags: object) -> None:
    """Publish in ZooKeeper what happens in HDFS to the paths that filters match, until SIGTERM or SIGINT."""
    load = Loading(config, partial(load_settings, PUBLISHER, config, given(flags)))
    settings = load()
    from nncache.daemons.publisher_wiring import run_publisher  # noqa: PLC0415 - as for the proxy

    run_publisher(settings, load)
