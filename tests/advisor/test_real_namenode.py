"""Lines that a real NameNode of the tested release writes are parsed field by field."""

import os
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession

from nncache.advisor import parse
from nncache.testbed import Cluster, ClusterSpec
from tests.advisor.test_parse import BERLIN, native
from tests.advisor.twin import AuditLine, read_line
from tests.cluster import HADOOP, webhdfs

NAMES = (
    "/a\u00e4\u20ac",
    '/t\tab"q\\x',
    "/nl\nline",
    "/emoji\N{GRINNING FACE}",
    "/dt=2026-01-01",
    "/with space, [x]",
)


@pytest.fixture(scope="module")
def lines() -> Iterator[tuple[str, list[bytes]]]:
    """Yield the superuser, and a NameNode's audit lines for some calls."""
    spec = ClusterSpec(hadoop_version=HADOOP, with_datanode=False, audit_log=True)
    with Cluster.start(spec) as cluster:
        log = cluster.logs / "hdfs-audit.log"
        began = log.stat().st_size
        for name in NAMES:
            webhdfs(cluster, "PUT", name, "MKDIRS")
            webhdfs(cluster, "GET", name, "GETFILESTATUS", user="alice")
        webhdfs(cluster, "GET", "/missing", "GETFILESTATUS", user="bob")
        webhdfs(cluster, "DELETE", "/missing", "DELETE")
        webhdfs(cluster, "PUT", NAMES[0], "RENAME", destination="/b", renameoptions="OVERWRITE")
        webhdfs(cluster, "PUT", "/b", "SETPERMISSION", user="bob", permission="700")
        cluster.fs_shell("-ls", "/b")
        yield cluster.superuser, log.read_bytes()[began:].splitlines()


def test_what_was_done_is_what_is_read(
    spark: SparkSession, tmp_path: Path, lines: tuple[str, list[bytes]]
) -> None:
    """Both parsers read user, command, path, permission and protocol."""
    superuser, written = lines
    zone = ZoneInfo(os.environ.get("TZ", "UTC"))
    found = [line for line in (read_line(each, zone) for each in written) if line is not None]
    assert len(found) == len(written)
    in_berlin = [read_line(each, BERLIN) for each in written]
    assert native(spark, tmp_path, written) == in_berlin

    def brief(line: AuditLine) -> tuple[str, str, str | None, str | None, bool]:
        return line.ugi.partition(" ")[0], line.cmd, line.src, line.dst, line.allowed

    over_web = [brief(line) for line in found if line.proto == "webhdfs"]
    expected: list[tuple[str, str, str | None, str | None, bool]] = []
    for name in NAMES:
        expected += [(superuser, "mkdirs", name, None, True), ("alice", "getfileinfo", name, None, True)]
    expected += [
        ("bob", "getfileinfo", "/missing", None, True),
        (superuser, "delete", "/missing", None, False),
        (superuser, "rename (options=[OVERWRITE])", NAMES[0], "/b", True),
        ("bob", "setPermission", "/b", None, False),
    ]
    assert over_web == expected
    assert {line.proto for line in found} == {"webhdfs", "rpc"}


def test_no_line_of_a_namenode_is_unknown(
    spark: SparkSession, tmp_path: Path, lines: tuple[str, list[bytes]]
) -> None:
    """Each line becomes an event."""
    file = tmp_path / "log"
    file.write_bytes(b"\n".join(lines[1]) + b"\n")
    events = parse.events(parse.read_lines(spark, [str(file)]))
    assert {row["form"] for row in events.select("form").distinct().collect()} == {parse.AUDIT}
