"""The configuration files that the servers and the shells of a cluster read."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree as ET

from nncache.testbed import four_letters, https, secured
from nncache.testbed.addresses import Addresses, ServerAddress
from nncache.testbed.spec import GROUPS_OF_USERS, ClusterSpec, group_mapping

_LOG4J_NAME = "log4j.properties"

# JMX shows figures cached for the period of the metrics system, 10 s by default (MetricsSystemImpl).
_METRICS2 = "*.period=1\n"


def write_configuration(directory: Path, data: Path, spec: ClusterSpec, addresses: Addresses) -> None:
    """Write the configuration of HDFS's servers to `directory`, and that of the shells to `directory`/shell."""
    settings = properties(spec, addresses, data)
    shell = directory / "shell"
    shell.mkdir(parents=True, exist_ok=True)
    for place in (directory, shell):
        # Each file overrides only the defaults of its own kind, so both hold all keys.
        (place / "core-site.xml").write_bytes(_site(settings))
        (place / "hdfs-site.xml").write_bytes(_site(settings))
        for name, keys in (https.ssl_files(data / https.AUTHORITY) if spec.tls else {}).items():
            (place / name).write_bytes(_site(keys))
    (shell / _LOG4J_NAME).write_text(_template("shell.log4j.properties"), encoding="ascii")
    (directory / "hadoop-metrics2.properties").write_text(_METRICS2, encoding="ascii")
    _write_logging(directory, data.parent / "logs" / "hdfs-audit.log" if spec.audit_log else None)


def write_zookeeper_configuration(
    directory: Path, data: Path, address: str, more_lines: tuple[str, ...] = ()
) -> Path:
    """Write the configuration of a ZooKeeper with this client address to `directory`, and return its zoo.cfg.

    The file is named after `data`: the servers of an ensemble share the directory.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / _LOG4J_NAME).exists():
        _write_logging(directory, None)
    host, _, port = address.rpartition(":")
    lines = (
        f"dataDir={data}",
        f"clientPort={port}",
        f"clientPortAddress={host}",
        "tickTime=500",  # ms; the shortest session is two ticks
        "maxSessionTimeout=60000",  # ms; long enough for a busy machine
        "maxClientCnxns=0",
        "admin.enableServer=false",
        f"4lw.commands.whitelist={','.join(four_letters.ALLOWED)}",
        *more_lines,
    )
    file = directory / f"{data.name}.cfg"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def write_yarn_configuration(directory: Path, settings: Mapping[str, str]) -> None:
    """Write the configuration of YARN's servers to `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "yarn-site.xml").write_bytes(_site(settings))
    _write_logging(directory, None)


def _write_logging(directory: Path, audit_log: Path | None) -> None:
    """Make servers log to their standard error, and the NameNode write its audit log to the given file, if any."""
    text = _template("servers.log4j.properties.in").format(
        audit_level="OFF" if audit_log is None else "INFO",
        audit_appender="varia.NullAppender" if audit_log is None else "FileAppender",
        audit_file=audit_log or "",
    )
    (directory / _LOG4J_NAME).write_text(text, encoding="utf-8")


def _template(name: str) -> str:
    return resources.files("nncache.testbed").joinpath(name).read_text(encoding="utf-8")


def properties(spec: ClusterSpec, addresses: Addresses, data: Path) -> dict[str, str]:
    """Return every key that differs from Hadoop's defaults, with the spec's overrides applied."""
    settings = {
        "hadoop.tmp.dir": str(data / "tmp"),
        "hadoop.user.group.static.mapping.overrides": group_mapping(GROUPS_OF_USERS),
        f"hadoop.proxyuser.{spec.superuser}.hosts": "*",
        f"hadoop.proxyuser.{spec.superuser}.groups": "*",
        f"hadoop.proxyuser.{spec.superuser}.users": "*",
        # A shell's -rm moves to the trash, as on most clusters. The interval is a day: no trash checkpoint is due.
        "fs.trash.interval": "1440",
        "dfs.replication": "1",
        "dfs.namenode.acls.enabled": "true",
        "dfs.namenode.fs-limits.min-block-size": "512",
        "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",  # there is no other DataNode
        # The delay before the DataNode's own client asks again whether the last block has arrived: 400 ms by
        # default, which would slow down every WebHDFS CREATE with data.
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "2",
        # Each delay doubles. With Hadoop's 5 retries a writer would give up after 62 ms, too early on a busy machine.
        "dfs.client.block.write.locateFollowingBlock.retries": "12",
        "dfs.heartbeat.interval": "1",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.datanode.data.dir": str(data / "datanode"),
        "dfs.datanode.hostname": spec.host,
        "dfs.datanode.address": addresses.datanode_data,
        "dfs.datanode.ipc.address": addresses.datanode_ipc,
        "dfs.datanode.http.address": addresses.datanode_http,
        "dfs.datanode.https.address": addresses.datanode_https,
    }
    if spec.proxy_servers:
        settings["hadoop.proxyservers"] = ",".join(spec.proxy_servers)
    settings |= _of_namenodes(spec, addresses, data)
    if spec.kerberos is not None:
        secret = secured.http_secret(data, addresses.namenodes[0].id)
        settings |= secured.properties(spec, spec.kerberos, data, secret)
    if spec.tls is not None:
        settings["dfs.http.policy"] = spec.tls.http_policy
    settings |= spec.overrides
    return {key: value for key, value in settings.items() if value}


def _of_namenodes(spec: ClusterSpec, addresses: Addresses, data: Path) -> dict[str, str]:
    service = spec.nameservice
    settings = {"fs.defaultFS": f"hdfs://{service if spec.ha else addresses.namenodes[0].rpc}"}
    for namenode in addresses.namenodes:
        of_it = f".{service}.{namenode.id}" if spec.ha else ""
        settings[f"dfs.namenode.rpc-address{of_it}"] = namenode.rpc
        settings[f"dfs.namenode.http-address{of_it}"] = namenode.http
        settings[f"dfs.namenode.https-address{of_it}"] = namenode.https
        settings[f"dfs.namenode.name.dir{of_it}"] = str(data / namenode.id)
    if not spec.ha:
        return settings
    return settings | {
        "dfs.nameservices": service,
        f"dfs.ha.namenodes.{service}": ",".join(namenode.id for namenode in addresses.namenodes),
        f"dfs.client.failover.proxy.provider.{service}": (
            "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
        ),
        "dfs.ha.fencing.methods": "shell(/bin/true)",
        "dfs.ha.tail-edits.period": "1s",
        "dfs.namenode.shared.edits.dir": shared_edits_dir(spec, addresses),
    }


def shared_edits_dir(spec: ClusterSpec, addresses: Addresses) -> str:
    """Return the URI of the journal of an HA pair."""
    return f"qjournal://{';'.join(each.rpc for each in addresses.journalnodes)}/{spec.nameservice}"


def of_journalnode(address: ServerAddress, directory: Path) -> dict[str, str]:
    """Return the keys that are specific to one JournalNode."""
    settings = {
        "dfs.journalnode.edits.dir": str(directory),
        "dfs.journalnode.rpc-address": address.rpc,
        "dfs.journalnode.http-address": address.http,
        "dfs.journalnode.https-address": address.https,
    }
    return {key: value for key, value in settings.items() if value}


def _site(settings: Mapping[str, str]) -> bytes:
    root = ET.Element("configuration")
    for key, value in settings.items():
        entry = ET.SubElement(root, "property")
        ET.SubElement(entry, "name").text = key
        ET.SubElement(entry, "value").text = value
    ET.indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode").encode()
