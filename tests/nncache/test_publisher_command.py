"""`nncache publisher` takes its settings as options, and with a filter and a proxy it is the whole service."""

import json
import signal
import time
import uuid
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nncache.options import given
from nncache.publisher_command import publisher
from nncache.settings import PUBLISHER, load_settings
from testbed import Cluster
from tests.cluster import webhdfs
from tests.nncache.processes import fetched, free_address, running, said

START = "--nameservice ns1 --namenode-http 127.0.0.1:9870 --namenode-rpc 127.0.0.1:8020 --zookeeper 127.0.0.1:2181"


def test_every_setting_of_its_own_is_an_option() -> None:
    """And no other command's; `--config` names the file."""
    options = {option for parameter in publisher.params for option in parameter.opts}
    assert options == {key.flag for key in PUBLISHER.keys.values()} | {"--config"}
    assert "--glob" not in options


def test_the_line_that_starts_without_any_file_is_understood() -> None:
    """All it says arrives where it belongs."""
    context = publisher.make_context("publisher", START.split())
    flags = {name: value for name, value in context.params.items() if name != "config"}
    settings = load_settings(PUBLISHER, None, given(flags))
    assert settings.namenodes.nameservice == "ns1"
    assert settings.namenodes.namenode_rpc == ("127.0.0.1:8020",)
    assert settings.zookeeper.zookeeper == ("127.0.0.1:2181",)
    assert settings.publisher.admin == "127.0.0.1:9873"


def test_help_is_complete() -> None:
    """Every key's meaning is in --help."""
    text = " ".join(CliRunner().invoke(publisher, ["--help"]).output.split())
    for key in PUBLISHER.keys.values():
        assert key.flag in text


def until(is_so: Callable[[], bool]) -> None:
    """Ask until it is so, or the test's deadline ends it."""
    while not is_so():
        time.sleep(0.02)


def readiness(admin: str) -> dict[str, Any]:
    """Return what /ready says; nothing while nobody is there."""
    pages = fetched(admin, "/ready")
    return json.loads(pages[0][2]) if pages else {}


def published(admin: str) -> list[dict[str, Any]]:
    """Return what /filters says is in force."""
    ((_, _, shown),) = fetched(admin, "/filters")
    filters: list[dict[str, Any]] = json.loads(shown)["published"]
    return filters


@pytest.mark.timeout(120)
def test_publisher_filter_and_proxy_are_the_service(
    cluster: Cluster, hdfs_directory: str, tmp_path: Path
) -> None:
    """From three lines to hits; a change behind the proxy's back is seen, also when nobody publishes (Bounded)."""
    assert cluster.zookeeper is not None
    namenode, root = cluster.namenodes[0], f"/inotify-{uuid.uuid4().hex[:12]}"
    listen, proxy_admin, admin = free_address(), free_address(), free_address()
    filters = ("--filters-path", f"{hdfs_directory}/filters", "--user", cluster.superuser)
    line = START.replace("127.0.0.1:9870", namenode.http).replace("127.0.0.1:8020", namenode.rpc)
    line = line.replace("127.0.0.1:2181", f"{cluster.zookeeper.address} --zookeeper-root {root}")
    asked_by_alice = f"/webhdfs/v1{hdfs_directory}/w/_SUCCESS?op=GETFILESTATUS&user.name=alice"

    def is_hit(status: HTTPStatus) -> bool:
        (reply,) = fetched(listen, asked_by_alice)
        return reply[:2] == (status, "nncache; hit")

    glob = f"{hdfs_directory}/*/_SUCCESS"
    adding = ("add", "--name", "jobs", "--glob", glob, "--owner", cluster.superuser, "--allow", "alice")
    said("filters", *adding, "--namenode-http", namenode.http, *filters)
    assert webhdfs(cluster, "PUT", f"{hdfs_directory}/w", "MKDIRS", permission="777")[0] == HTTPStatus.OK
    log, proxy_log = tmp_path / "publisher.log", tmp_path / "proxy.log"
    with (
        running("publisher", *line.split(), "--admin", admin, *filters, log=log) as publishing,
        running(
            *("proxy", *line.split(), "--listen", listen, "--admin", proxy_admin), log=proxy_log
        ) as proxying,
    ):
        until(lambda: readiness(admin).get("ready") is True)
        until(lambda: [filter_["path_glob"] for filter_ in published(admin)] == [glob])
        until(lambda: readiness(proxy_admin).get("is_gate_open") is True)
        until(lambda: is_hit(HTTPStatus.NOT_FOUND))
        made = webhdfs(cluster, "PUT", f"{hdfs_directory}/w/_SUCCESS", "MKDIRS", user="alice")
        assert made[0] == HTTPStatus.OK
        until(lambda: is_hit(HTTPStatus.OK))
        assert (
            webhdfs(cluster, "DELETE", f"{hdfs_directory}/w/_SUCCESS", "DELETE", user="alice")[0]
            == HTTPStatus.OK
        )
        until(lambda: is_hit(HTTPStatus.NOT_FOUND))
        ((_, _, metrics),) = fetched(admin, "/metrics")
        assert "\nnncache_publisher_filters 1.0\n" in metrics
        assert "\nnncache_zookeeper_connected 1.0\n" in metrics
        publishing.send_signal(signal.SIGTERM)
        assert publishing.wait(timeout=20) == 0
        made = webhdfs(cluster, "PUT", f"{hdfs_directory}/w/_SUCCESS", "MKDIRS", user="alice")
        assert made[0] == HTTPStatus.OK
        until(lambda: fetched(listen, asked_by_alice)[0][0] == HTTPStatus.OK)  # since the gate is closed
        assert "behind the NameNode by" in readiness(proxy_admin)["gate"]
        proxying.send_signal(signal.SIGTERM)
        assert proxying.wait(timeout=20) == 0
    for lines in (log.read_text(), proxy_log.read_text()):
        assert "SIGTERM" in lines
        assert " ERROR " not in lines
