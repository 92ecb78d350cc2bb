"""The settings of both daemons, as the checks ask for them."""

from nncache.settings.commands import PROXY, PUBLISHER
from tests.checks.samples import ON_ZOOKEEPER, subject


def test_a_proxy_that_reads_the_edits() -> None:
    """It has globs, and nothing to do with ZooKeeper."""
    seen = subject(PROXY, {"glob": ("/a",)})
    assert (seen.command, seen.user, seen.reads_edits, seen.zookeeper) == ("proxy", "hdfs", True, None)
    assert (seen.globs, seen.own_class) == (("/a",), None)
    assert seen.addresses == ("nn1:9870", "nn1:8020")
    assert [*seen.endpoints] == ["listen", "admin"]
    assert (seen.at("glob"), seen.at("max_calls"), seen.at("no such")) == ("--glob", "--max-calls", "no such")


def test_a_proxy_that_follows_a_publisher() -> None:
    """It reads no edits, and the filters say which paths are meant."""
    seen = subject(PROXY, ON_ZOOKEEPER)
    assert (seen.reads_edits, seen.globs) == (False, None)
    assert seen.addresses == ("nn1:9870", "nn1:8020", "zk1:2181")


def test_a_publisher() -> None:
    """It reads the edits, and has one port."""
    seen = subject(PUBLISHER, ON_ZOOKEEPER)
    assert (seen.command, seen.reads_edits, seen.globs) == ("publisher", True, None)
    assert [*seen.endpoints] == ["admin"]
    assert seen.zookeeper is not None


def test_classes_from_outside() -> None:
    """A channel or an output of somebody else's uses no ZooKeeper of ours."""
    seen = subject(PROXY, {"channel": "a.b:C"})
    assert (seen.own_class, seen.zookeeper, seen.reads_edits) == (("channel", "a.b:C"), None, False)
    seen = subject(PUBLISHER, {"output_stream": "a.b:C"})
    assert (seen.own_class, seen.zookeeper, seen.reads_edits) == (("output_stream", "a.b:C"), None, True)


def test_a_daemon_that_registers() -> None:
    """Its ZooKeeper is asked even where no changes come from there; its entry is named after its first port."""
    flags = {"registry": True, "zookeeper": ("zk1:2181",), "channel": "direct", "listen": "0.0.0.0:80"}
    seen = subject(PROXY, flags)
    assert (seen.registers, seen.zookeeper) == (True, None)
    assert seen.addresses == ("nn1:9870", "nn1:8020", "zk1:2181")
    assert str(seen.registers_at) == "0.0.0.0:80"
    assert str(subject(PROXY, {**flags, "registry_host": "p"}).registers_at) == "p:80"
    assert subject(PUBLISHER, {**ON_ZOOKEEPER, "admin": "h:81"}).registers_at.port == 81
    assert not subject(PROXY, {}).registers
