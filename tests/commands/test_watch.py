"""`nncache watch` as a process, on a real ZooKeeper that the test fills as a publisher would."""

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.clock import boottime
from nncache.commands.group import nncache
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import CreateOp, SetDataOp
from nncache.errors import ConfigurationError
from nncache.hadoop.events import EventBatch, Unlink
from nncache.invalidation.channel.published_filters import PublishedFilter, encode_published_filter
from nncache.invalidation.channel.records import FilterRecord, MatchedEvents, RecordLink, encode_filter_record
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.testbed import Cluster

PROGRAM = Path(sys.executable).with_name("nncache")
ENDS_S = 15.0


class Published:
    """A nameservice with one filter, joe, under a separate root."""

    def __init__(self, session: KazooSession, address: str) -> None:
        self.session = session
        self.znodes = ZnodePaths(f"/watch-{uuid.uuid4().hex[:12]}", "ns1")
        self.flags = ("--zookeeper", address, "--zookeeper-root", self.znodes.root, "--nameservice", "ns1")
        self.txid = 10

    async def begin(self) -> None:
        """Write the state before the first event."""
        joe = PublishedFilter(
            name="joe", id="a", path_glob="/joe/*", since_txid=10, owner="joe", allowed_subscribers=()
        )
        await self.session.wait_connected(10)
        await self.session.commit(
            [
                CreateOp(self.znodes.root, b""),
                CreateOp(self.znodes.namespace, b"BP-1"),
                CreateOp(self.znodes.publisher, b"{}", ephemeral=True),
                CreateOp(self.znodes.filters, b"1"),
                CreateOp(self.znodes.definition("joe"), encode_published_filter(joe)),
                CreateOp(self.znodes.cache, b"10"),
                CreateOp(self.znodes.stream("joe"), b"10"),
            ]
        )

    async def unlink(self, path: str) -> None:
        """Publish the deletion of a path."""
        before, self.txid = self.txid, self.txid + 1
        events = MatchedEvents((EventBatch(self.txid, (Unlink(path),)),))
        stream = self.znodes.stream("joe")
        record = encode_filter_record(FilterRecord(RecordLink("a", before, self.txid), events))
        await self.session.commit(
            [CreateOp(self.znodes.record(stream, self.txid), record), SetDataOp(stream, b"%d" % self.txid)]
        )


@pytest.fixture
async def published(cluster: Cluster) -> AsyncIterator[Published]:
    """Yield the nameservice."""
    address = cluster.zookeeper.address
    async with KazooSession(ZooKeeperSettings(zookeeper=(address,)), boottime) as session:
        published = Published(session, address)
        await published.begin()
        yield published


@contextmanager
def watching(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run the command; kill it at the end."""
    process = subprocess.Popen(
        [str(PROGRAM), "watch", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def next_line(process: "subprocess.Popen[str]") -> str:
    """Return the next line of its output."""
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_each_event_is_a_line_at_once_until_a_signal(
    published: Published, number: signal.Signals
) -> None:
    """Lines are flushed also into a pipe. The signal is exit code 0."""
    with watching("joe", *published.flags) as process:
        assert "-- following joe after transaction 10" in next_line(process)
        for name in ("a", "b"):
            await published.unlink(f"/joe/{name}")
            assert f" UNLINK   /joe/{name}" in next_line(process)
        process.send_signal(number)
        assert process.communicate(timeout=ENDS_S) == ("", "")
        assert process.returncode == 0


async def test_programs_get_objects_and_may_begin_earlier(published: Published) -> None:
    """`--from` starts after a transaction."""
    for name in ("a", "b"):
        await published.unlink(f"/joe/{name}")
    with watching("joe", "--json", "--from", "11", *published.flags) as process:
        lines = [json.loads(next_line(process)) for _ in range(2)]
    assert lines == [
        {"filter": "joe", "after": 11},
        {"filter": "joe", "txid": 12, "type": "UNLINK", "path": "/joe/b"},
    ]


async def test_a_reader_that_goes_away_ends_it_quietly(published: Published) -> None:
    """A closed pipe is no error, as in `nncache watch joe | head -1`."""
    with watching("joe", *published.flags) as process:
        next_line(process)
        assert process.stdout is not None
        process.stdout.close()
        await published.unlink("/joe/a")
        process.wait(ENDS_S)
        assert process.stderr is not None
        assert process.stderr.read() == ""


async def test_what_cannot_be_followed_is_one_line(published: Published) -> None:
    """An unknown filter lists the names; a nameservice without a publisher is reported."""
    with watching("ann", *published.flags) as process:
        out, err = process.communicate(timeout=ENDS_S)
    assert (out, process.returncode) == ("", 1)
    assert err == "nncache: there is no filter 'ann'; there are: joe\n"
    with watching("joe", *published.flags, "--nameservice", "ns2") as process:
        out, err = process.communicate(timeout=ENDS_S)
    assert (out, process.returncode) == ("", 1)
    assert "nothing was published yet" in err
    assert err.count("\n") == 1


def test_it_needs_to_know_where_zookeeper_is() -> None:
    """Besides the filter it is the only required setting: a default could be another cluster's."""
    result = CliRunner().invoke(nncache, ["watch", "joe"])
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception).startswith("zookeeper: none: must name the servers")


def test_the_file_of_the_daemons_will_do(tmp_path: Path) -> None:
    """Keys of other commands are allowed in it. Invalid values of its own keys are reported."""
    config = tmp_path / "nncache.toml"
    config.write_text('namenode_http = ["nn:9870"]\nzookeeper = ["nowhere"]\n', encoding="utf-8")
    result = CliRunner().invoke(nncache, ["watch", "joe", "--config", str(config)])
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception).startswith("zookeeper: nowhere: ")


@pytest.mark.parametrize("arguments", [[], ["joe", "ann"], ["joe", "--from", "x"], ["joe", "--from", "-1"]])
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    """It takes one filter and one transaction id."""
    assert CliRunner().invoke(nncache, ["watch", *arguments, "--zookeeper", "zk:2181"]).exit_code == 2
