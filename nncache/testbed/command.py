"""The command `nncache cluster`: start a cluster, print its addresses, and run it until a signal."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from nncache.testbed import kdc, secured
from nncache.testbed.cluster import Cluster
from nncache.testbed.ending import signals_end_it, wait_for_the_end
from nncache.testbed.errors import TestbedError
from nncache.testbed.https import STORE_PASSWORD
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION, SUPPORTED_HADOOP_VERSIONS
from nncache.testbed.spec import (
    FULL_SPEED_JVM,
    GROUPS_OF_USERS,
    QUICK_START_JVM,
    REALM,
    ClusterSpec,
    Kerberos,
    Ports,
    Tls,
    ZooKeeperSecurity,
)

_PORT = click.IntRange(0, 65_535)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--hadoop",
    "hadoop_version",
    default=DEFAULT_HADOOP_VERSION,
    show_default=True,
    metavar="VERSION",
    help=f"Hadoop release; {' and '.join(SUPPORTED_HADOOP_VERSIONS)} are tested.",
)
@click.option("--http-port", type=_PORT, default=0, help="The NameNode's WebHDFS port [default: a free one].")
@click.option("--rpc-port", type=_PORT, default=0, help="The NameNode's RPC port [default: a free one].")
@click.option("--zookeeper-port", type=_PORT, default=0, help="ZooKeeper port [default: a free one].")
@click.option("--with-zookeeper", is_flag=True, help="Start a ZooKeeper as well.")
@click.option("--ha", is_flag=True, help="Start two NameNodes and a JournalNode; the first becomes active.")
@click.option(
    "--secure",
    is_flag=True,
    help="Require Kerberos on every port, with a KDC for the cluster; prints how to get a ticket.",
)
@click.option(
    "--tls", is_flag=True, help="Also serve HTTPS, and ZooKeeper over TLS, in addition to the plain ports."
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory that keeps data and logs for the next start [default: a temporary one].",
)
@click.option("--audit-log", is_flag=True, help="Let the NameNode write logs/hdfs-audit.log.")
@click.option(
    "--full-speed",
    is_flag=True,
    help="Start the NameNode as for a benchmark: it starts later and then runs faster.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Hadoop configuration property; may be repeated.",
)
def cluster_command(  # noqa: PLR0913 - one parameter for each option
    *,
    hadoop_version: str,
    http_port: int,
    rpc_port: int,
    zookeeper_port: int,
    with_zookeeper: bool,
    ha: bool,
    secure: bool,
    tls: bool,
    directory: Path | None,
    audit_log: bool,
    full_speed: bool,
    overrides: tuple[str, ...],
) -> None:
    """Start a real HDFS on this machine for development.

    Prints its addresses as one JSON object on standard output when it takes reads and writes, and runs until
    Ctrl-C or SIGTERM. Progress goes to standard error, and so do the first commands to type for a cluster with
    Kerberos or TLS.
    """
    spec = ClusterSpec(
        hadoop_version=hadoop_version,
        with_zookeeper=with_zookeeper or bool(zookeeper_port),
        ha=ha,
        kerberos=Kerberos() if secure else None,
        tls=Tls() if tls else None,
        zookeeper_security=ZooKeeperSecurity(kerberos=secure, tls=tls, client_certificates="want"),
        ports=Ports(namenode_http=http_port, namenode_rpc=rpc_port, zookeeper=zookeeper_port),
        directory=directory,
        audit_log=audit_log,
        namenode_jvm=FULL_SPEED_JVM if full_speed else QUICK_START_JVM,
        overrides=dict(_key_and_value(text) for text in overrides),
    )
    run_until_signal(spec)


def run_cluster(arguments: list[str]) -> int:
    """Run `nncache cluster ARGUMENTS` to completion and return the exit code. Needs the main thread."""
    try:
        cluster_command.main(arguments, prog_name="nncache cluster", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except TestbedError as error:
        click.echo(f"nncache: {error}", err=True)
        return 1
    return 0


def run_until_signal(spec: ClusterSpec) -> None:
    """Start a cluster, print its addresses, and stop it on an ending signal, even during the start."""
    try:
        with signals_end_it(), Cluster.start(spec, progress=_say) as cluster:
            click.echo(json.dumps(describe(cluster)))
            sys.stdout.flush()
            for line in first_steps(cluster):
                _say(f"  {line}")
            _say("Ctrl-C stops it")
            wait_for_the_end()
    except KeyboardInterrupt:
        pass
    _say("stopped")


def describe(cluster: Cluster) -> dict[str, Any]:
    """Return the cluster's addresses, users, files and processes, ready for JSON; parts that it lacks are null."""
    return {
        "hadoop_version": cluster.hadoop_version,
        "nameservice": cluster.spec.nameservice,
        "superuser": cluster.superuser,
        "users": {user: list(groups) for user, groups in GROUPS_OF_USERS.items()},
        "namenode_http": [namenode.http for namenode in cluster.namenodes],
        "namenode_rpc": [namenode.rpc for namenode in cluster.namenodes],
        "datanode_http": cluster.datanode.http if cluster.datanode else None,
        "zookeeper": cluster.zookeeper.address if cluster.spec.with_zookeeper else None,
        "directory": str(cluster.directory),
        "logs": str(cluster.logs),
        "conf_dir": str(cluster.conf_dir),
        "kerberos": kerberos_of(cluster),
        "tls": tls_of(cluster),
        "pids": {process.name: process.pid for process in cluster.processes},
        "start_s": {name: round(seconds, 1) for name, seconds in cluster.start_s.items()},
    }


def kerberos_of(cluster: Cluster) -> dict[str, Any] | None:
    """Return the KDC's address, the principals and their keytabs, ready for JSON; None without Kerberos."""
    realm = cluster.kdc
    if realm is None:
        return None
    keytabs = {name: name for name in secured.principals(cluster.spec)}
    keytabs |= {secured.SERVICE: secured.SERVICE_KEYTAB, secured.PROXY: secured.PROXY_KEYTAB}
    return {
        "realm": REALM,
        "kdc": realm.address,
        "krb5_conf": str(realm.krb5_conf),
        "keytabs": {principal: str(kdc.keytab(realm.directory, name)) for principal, name in keytabs.items()},
        "environment": realm.environ(realm.directory / "tickets" / "yours"),
    }


def tls_of(cluster: Cluster) -> dict[str, Any] | None:
    """Return the certificate files and the HTTPS addresses, ready for JSON; None without TLS."""
    authority = cluster.authority
    if authority is None:
        return None
    datanode = cluster.datanode
    zookeeper_secure = cluster.zookeeper.secure_address if cluster.spec.with_zookeeper else ""
    return {
        "ca": str(authority.ca),
        "truststore": str(authority.truststore),
        "store_password": STORE_PASSWORD,
        "namenode_https": [namenode.https for namenode in cluster.namenodes],
        "datanode_https": datanode.https if datanode else None,
        "zookeeper_secure": zookeeper_secure or None,
    }


def first_steps(cluster: Cluster) -> tuple[str, ...]:
    """Return shell lines, in order: environment, ticket, and a call; none for a cluster without Kerberos and TLS."""
    realm, authority = kerberos_of(cluster), cluster.authority
    if realm is None and authority is None:
        return ()
    found: list[str] = []
    asking = ["curl"]
    if realm is not None:
        found += [f"export {name}={shlex.quote(value)}" for name, value in realm["environment"].items()]
        found.append(f"kinit -kt {shlex.quote(realm['keytabs']['alice'])} alice")
        asking += ["--negotiate", "-u", ":"]
    webs = {f"http://{namenode.http}" for namenode in cluster.namenodes[:1] if namenode.http}
    webs |= {f"https://{namenode.https}" for namenode in cluster.namenodes[:1] if namenode.https}
    for web in sorted(webs):
        trusting = (
            ["--cacert", str(authority.ca)] if authority is not None and web.startswith("https") else []
        )
        found.append(shlex.join([*asking, *trusting, f"{web}/webhdfs/v1/?op=GETHOMEDIRECTORY"]))
    return tuple(found)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _key_and_value(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not key or not separator:
        raise click.BadParameter(f"{text}: must be KEY=VALUE", param_hint="--set")
    return key, value
