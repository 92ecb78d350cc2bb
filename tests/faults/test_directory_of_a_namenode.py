"""A proxy that reads the directory of a NameNode without HA, which is restarted, and abandons the directory."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nncache.testbed import Cluster, ClusterSpec
from tests.cluster import HADOOP, make_directory
from tests.patience import until
from tests.real.proxied_cluster import CallTarget, ProxiedCluster, was_forwarded
from tests.real.stand import Channel, proxied

pytestmark = pytest.mark.timeout(240)

TOP = "/directory"
GLOBS = (f"{TOP}/*", f"{TOP}/*/*")


@pytest.fixture(scope="module")
def cluster_of_one() -> Iterator[Cluster]:
    """A cluster with a single NameNode."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True)) as cluster:
        make_directory(cluster, TOP)
        yield cluster


@pytest.fixture
def edits_dir(cluster_of_one: Cluster) -> Path:
    """The directory with the NameNode's edits."""
    return next(cluster_of_one.directory.glob("**/current/edits_inprogress_*")).parent


def see_changes(on: ProxiedCluster, name: str) -> None:
    """Check that answers from memory follow a directory's creation and changes."""
    path = f"{TOP}/{name}"
    on.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
    on.await_agreement(path, "alice", since=time.monotonic())
    for op, parameters in (
        ("SETPERMISSION", {"permission": "700"}),
        ("SETSTORAGEPOLICY", {"storagepolicy": "COLD"}),
    ):
        on.make_hit(path, "alice")
        on.do(CallTarget.NAMENODE, "PUT", op, path, **parameters)
        on.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)


@pytest.mark.parametrize("channel", Channel)
def test_changes_are_seen_over_segments_and_restarts(
    cluster_of_one: Cluster, edits_dir: Path, channel: Channel
) -> None:
    """Changes that inotify does not report are seen too, and no NameNode is polled."""
    polling = {"edits_source": "directory", "edits_dir": edits_dir}
    with proxied(cluster_of_one, *GLOBS, channel=channel, polling=polling) as on:
        reader = on.publisher or on.proxy
        see_changes(on, f"{channel.value}-first")
        cluster_of_one.roll_edits()
        see_changes(on, f"{channel.value}-rolled")
        assert reader.metrics()["nncache_channel_polls_total"] == 0
        namenode = cluster_of_one.namenodes[0]
        namenode.process.kill()
        namenode.process.start()
        cluster_of_one.await_writable()
        on.proxy.await_gate()
        see_changes(on, f"{channel.value}-restarted")
        assert reader.metrics()["nncache_channel_polls_total"] == 0


@pytest.mark.parametrize("source", ["directory", "auto"])
def test_a_directory_that_grows_no_more_covers_nothing(
    cluster_of_one: Cluster, edits_dir: Path, source: str
) -> None:
    """A NameNode may abandon its directory: here the segment ends, and the next one is written elsewhere."""
    left = cluster_of_one.directory / f"left-{source}"
    left.mkdir()
    for file in (edits_dir / "VERSION", *edits_dir.glob("edits_*")):
        os.link(file, left / file.name)
    with proxied(cluster_of_one, *GLOBS, edits_source=source, edits_dir=left) as on:
        see_changes(on, f"{source}-written")
        path = f"{TOP}/{source}-left"
        on.make_hit(path, "alice")
        cluster_of_one.roll_edits()
        on.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
        on.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)
        if source == "directory":
            on.proxy.await_gate(is_open=False)
            assert was_forwarded(on.ask(path, "alice"))
        else:
            log = on.proxy.process.log
            why = "are read from the NameNode (inotify) and not from"
            until(lambda: why in log.read_text(encoding="utf-8"))
            on.make_hit(path, "alice")
            on.do(CallTarget.NAMENODE, "DELETE", "DELETE", path)
            on.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)
