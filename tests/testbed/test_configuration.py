"""What the servers are told."""

import xml.etree.ElementTree as ET
from pathlib import Path

from nncache.testbed.addresses import Addresses, NameNodeAddress
from nncache.testbed.configuration import (
    properties,
    write_configuration,
    write_zookeeper_configuration,
)
from nncache.testbed.four_letters import ALLOWED
from nncache.testbed.spec import ClusterSpec

ONE = Addresses(namenodes=(NameNodeAddress("nn1", "127.0.0.1:1", "127.0.0.1:2"),), zookeeper="127.0.0.1:9")
TWO = Addresses(
    namenodes=(
        NameNodeAddress("nn1", "127.0.0.1:1", "127.0.0.1:2"),
        NameNodeAddress("nn2", "127.0.0.1:3", "127.0.0.1:4"),
    ),
    journalnode_rpc="127.0.0.1:5",
    journalnode_http="127.0.0.1:6",
)


def read(file: Path) -> dict[str, str]:
    """Read a Hadoop configuration file as Hadoop does."""
    entries = ET.fromstring(file.read_text(encoding="utf-8"))  # noqa: S314 - our own file
    return {entry.findtext("name", ""): entry.findtext("value", "") for entry in entries}


def test_an_override_beats_the_test_bed() -> None:
    """A test decides last."""
    spec = ClusterSpec(overrides={"dfs.heartbeat.interval": "9", "x.y": "z"})
    settings = properties(spec, ONE, Path("/d"))
    assert (settings["dfs.heartbeat.interval"], settings["x.y"]) == ("9", "z")


def test_an_empty_override_restores_the_default_of_hadoop() -> None:
    """A key without a value is left out."""
    assert "fs.trash.interval" not in properties(
        ClusterSpec(overrides={"fs.trash.interval": ""}), ONE, Path("/d")
    )


def test_the_users_need_no_account_on_this_machine() -> None:
    """Their groups come from the configuration; dr.who has none."""
    settings = properties(ClusterSpec(), ONE, Path("/d"))
    mapping = settings["hadoop.user.group.static.mapping.overrides"].split(";")
    assert {"alice=alice,users", "bob=bob,users", "carol=carol", "dr.who="} == set(mapping)


def test_forwarded_addresses_are_believed_only_when_asked() -> None:
    """`proxy_servers` names who may say for whom they speak."""
    assert "hadoop.proxyservers" not in properties(ClusterSpec(), ONE, Path("/d"))
    spec = ClusterSpec(proxy_servers=("127.0.0.1", "127.0.0.2"))
    assert properties(spec, ONE, Path("/d"))["hadoop.proxyservers"] == "127.0.0.1,127.0.0.2"


def test_a_pair_shares_its_edits_and_nothing_else() -> None:
    """Two NameNodes in one directory would destroy each other's image."""
    settings = properties(ClusterSpec(ha=True), TWO, Path("/d"))
    assert settings["dfs.namenode.shared.edits.dir"] == "qjournal://127.0.0.1:5/ns1"
    assert (
        settings["dfs.namenode.name.dir.ns1.nn1"],
        settings["dfs.namenode.name.dir.ns1.nn2"],
    ) == ("/d/nn1", "/d/nn2")
    assert settings["fs.defaultFS"] == "hdfs://ns1"


def test_both_files_say_everything(tmp_path: Path) -> None:
    """The defaults of hdfs-site.xml's keys are loaded after core-site.xml and would hide what it says."""
    spec = ClusterSpec(overrides={"odd": "a <b> & c"})
    write_configuration(tmp_path / "conf", tmp_path / "data", spec, ONE)
    core = read(tmp_path / "conf" / "core-site.xml")
    assert core == read(tmp_path / "conf" / "hdfs-site.xml") == properties(spec, ONE, tmp_path / "data")
    assert core["odd"] == "a <b> & c"


def test_shells_are_quiet_and_servers_are_not(tmp_path: Path) -> None:
    """A shell's standard error is compared by tests; a server's log is read when it dies."""
    write_configuration(tmp_path / "conf", tmp_path / "data", ClusterSpec(), ONE)
    assert "rootLogger=INFO" in (tmp_path / "conf" / "log4j.properties").read_text(encoding="utf-8")
    assert "rootLogger=WARN" in (tmp_path / "conf" / "shell" / "log4j.properties").read_text(encoding="utf-8")


def test_a_zookeeper_is_told_its_port_and_its_words(tmp_path: Path) -> None:
    """And where its data is; it logs as the other servers do."""
    file = write_zookeeper_configuration(tmp_path / "conf", tmp_path / "data", "127.0.0.1:9")
    lines = file.read_text(encoding="utf-8").splitlines()
    assert "clientPort=9" in lines
    assert f"dataDir={tmp_path / 'data'}" in lines
    assert "4lw.commands.whitelist=" + ",".join(ALLOWED) in lines
    assert "rootLogger=INFO" in (tmp_path / "conf" / "log4j.properties").read_text(encoding="utf-8")


def test_a_zookeeper_beside_a_namenode_leaves_its_logging_alone(tmp_path: Path) -> None:
    """They share one directory, and the audit log is the NameNode's."""
    write_configuration(tmp_path / "conf", tmp_path / "data", ClusterSpec(audit_log=True), ONE)
    write_zookeeper_configuration(tmp_path / "conf", tmp_path / "data", "127.0.0.1:9")
    assert "hdfs-audit.log" in (tmp_path / "conf" / "log4j.properties").read_text(encoding="utf-8")
