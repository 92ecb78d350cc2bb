"""`nncache check` names each of many planted mistakes: the fact, the key and the right value.

The servers are real where it matters: NameNodes, a DataNode, ZooKeeper, a proxy and a publisher.
"""

import http.client
import json
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import nncache as api
from nncache.checks.finding import failed, ok, skipped, warning
from nncache.checks.table import CHECKS, SETTINGS, CheckResult
from nncache.commands.check import lines, proxy, publisher, report_as_json, summary
from nncache.commands.group import nncache
from nncache.registry.tree_watch import Present
from nncache.settings.commands import PROXY, PUBLISHER
from nncache.settings.forms import Form
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import HADOOP, webhdfs
from tests.commands.planted import Simulation, checked, greeting, planted_registry, silent, socket_server, tls
from tests.commands.plants import (
    DIRECT,
    FIRST,
    IN_THE_REGISTRY,
    ON_ZOOKEEPER,
    PLANTS,
    PROXY_ON,
    PUBLISHER_ON,
    REGISTERS,
)
from tests.http_server import http_server
from tests.patience import SLACK_S
from tests.processes import free_address
from tests.registry.samples import place_of_its_own
from tests.service import InotifyService

pytestmark = pytest.mark.timeout(300)

ALL_PLANTS = PLANTS | IN_THE_REGISTRY


@pytest.fixture(scope="module")
def simulation(cluster: Cluster) -> Iterator[Simulation]:
    """Two clusters, a running service on one of them, and servers of other kinds."""
    spec = ClusterSpec(
        hadoop_version=HADOOP,
        with_datanode=False,
        ha=True,
        proxy_servers=("127.0.0.1",),
        overrides={"dfs.namenode.num.extra.edits.retained": "1000"},
    )
    assert cluster.datanode is not None
    # The message names only the first few other roots, and other tests publish in the same ZooKeeper.
    service = replace(InotifyService.of(cluster), root=f"/a-{uuid.uuid4().hex[:12]}")
    service.add("jobs", "/user/*/_SUCCESS")
    odd = replace(service, root=f"/odd-{uuid.uuid4().hex[:8]}", filters_path=f"{service.filters_path}-odd")
    odd.add("deep", "/user/**/_SUCCESS")
    assert webhdfs(cluster, "PUT", f"{odd.filters_path}/broken", "MKDIRS")[0] == http.client.OK
    with Cluster.start(spec) as pair, ExitStack() as running:
        publishing = running.enter_context(service.publisher())
        publishing.await_publishing()
        proxying = running.enter_context(service.proxy())
        servers = {
            "tls": socket_server(tls),
            "silent": socket_server(silent),
            "ssh": socket_server(greeting),
            "kerberos": http_server(401, {"WWW-Authenticate": "Negotiate"}),
            "custom": http_server(401, {"WWW-Authenticate": "Bearer realm=x"}),
            "sso": http_server(302, {"Location": "https://sso.example/"}),
            "forbidden": http_server(403),
            "web": http_server(404, {"Server": "nginx"}),
        }
        active, standby = sorted(pair.namenodes, key=lambda each: each.state() != "active")
        at = {name: running.enter_context(server) for name, server in servers.items()}
        yield Simulation(
            cluster,
            pair,
            service,
            {
                **at,
                "http": cluster.namenodes[0].http,
                "rpc": cluster.namenodes[0].rpc,
                "datanode": cluster.datanode.http,
                "zookeeper": cluster.zookeeper.address,
                "active_http": active.http,
                "active_rpc": active.rpc,
                "standby_http": standby.http,
                "standby_rpc": standby.rpc,
                "proxy": proxying.address,
                "proxy_admin": proxying.admin,
                "publisher_admin": publishing.admin,
                "closed": free_address(),
                "superuser": cluster.superuser,
                "root": service.root,
                "filters": service.filters_path,
                "odd_filters": odd.filters_path,
                "no_filters": f"{service.filters_path}-none",
                "conf": str(pair.conf_dir),
                **running.enter_context(planted_registry(cluster, at["web"])),
            },
        )


@pytest.mark.parametrize("name", ALL_PLANTS)
def test_a_planted_mistake_is_named(simulation: Simulation, name: str) -> None:
    """The line states the fact, the key and the right value. The exit code is 1 for a failure."""
    words, check_name, verdict, parts = ALL_PLANTS[name]
    report = checked(*simulation.filled(words))
    reported = " | ".join(report.of(check_name, verdict))
    missing = [part for each in parts if (part := each.format_map(simulation.addresses)) not in reported]
    assert not missing, report
    if verdict == "failed":
        assert report.exit_code == 1


def test_what_is_right_passes(simulation: Simulation) -> None:
    """A proxy that reads the edits, a proxy that follows a publisher, and the publisher: exit code 0."""
    assert checked(*simulation.filled(f"{DIRECT} --glob /a")).exit_code == 0
    follower = checked(*simulation.filled(f"{PROXY_ON} {FIRST} {ON_ZOOKEEPER}"))
    assert (follower.exit_code, follower.failed) == (0, set())
    assert "publishes; .cache covers transaction" in follower.of("publisher", "ok")[0]
    assert "filters in force: 1, none broken" in follower.of("filters", "ok")[0]
    other = checked(*simulation.filled(f"{PUBLISHER_ON} {FIRST} {ON_ZOOKEEPER}"))
    assert (other.exit_code, other.failed) == (0, set())
    assert "another publisher leads: process" in other.of("publisher", "ok")[0]


def test_warnings_fail_with_strict_only(simulation: Simulation) -> None:
    """The pair's files list this host but retain few edits: one warning, and nothing else."""
    words = simulation.filled(f"{PROXY_ON} --hadoop-conf-dir {{conf}} --glob /user/*")
    report = checked(*words)
    assert report.exit_code == 0
    assert {each["check"] for each in report.findings if each["verdict"] == "warning"} == {"retention"}
    assert "lists our address 127.0.0.1 in hadoop.proxyservers" in report.of("proxyservers", "ok")[0]
    assert checked(*words, "--strict").exit_code == 1


def test_a_running_daemon_is_no_fault_and_is_read_through(simulation: Simulation) -> None:
    """The command line of a running daemon passes: its own ports are in use, and a read goes through it."""
    where = "--listen {proxy} --admin {proxy_admin}"
    report = checked(*simulation.filled(f"proxy {where} --user {{superuser}} {FIRST} {ON_ZOOKEEPER}"))
    assert report.exit_code == 0
    assert [text.split(":")[0] for text in report.of("listen", "ok")] == [
        "listen 127.0.0.1",
        "admin 127.0.0.1",
    ]
    assert all("that is running" in text for text in report.of("listen", "ok"))
    (read,) = report.of("through", "ok")
    assert "answers 200 (Cache-Status: nncache; fwd=bypass" in read
    running = checked(*simulation.filled(f"publisher --admin {{publisher_admin}} {FIRST} {ON_ZOOKEEPER}"))
    assert "the admin port of an nncache publisher that is running" in running.of("listen", "ok")[0]


def test_keys_of_a_file_are_named_with_the_file(simulation: Simulation, tmp_path: Path) -> None:
    """The remedy names the place to edit: the key in the file, or the flag that overrides it."""
    config = tmp_path / "nncache.toml"
    config.write_text(f'namenode_http = ["{simulation["closed"]}"]\nnamenode_rpc = ["{simulation["rpc"]}"]\n')
    words = ("proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--config", str(config))
    (text,) = checked(*words).of("addresses", "failed")
    assert f"in namenode_http in {config}, replace {simulation['closed']}" in text
    (text,) = checked(*words, "--namenode-http", simulation["web"]).of("addresses", "failed")
    assert f"in --namenode-http, replace {simulation['web']}" in text


def test_silent_servers_cost_a_bounded_time(simulation: Simulation) -> None:
    """The servers are asked in parallel: several take no longer than one."""
    silent_ones = ",".join(
        f"{host}:{simulation['silent'].rpartition(':')[2]}" for host in ("127.0.0.1", "localhost")
    )
    began = time.monotonic()
    report = checked(
        *("proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"),
        *("--namenode-http", silent_ones, "--namenode-rpc", silent_ones, "--zookeeper", silent_ones),
    )
    assert time.monotonic() - began < 10 + SLACK_S
    assert report.failed == {"addresses"}


def test_for_people_there_is_a_line_each(simulation: Simulation) -> None:
    """A line has the verdict, the check and the remedy. The last line counts the verdicts."""
    result = CliRunner().invoke(nncache, ["check", *simulation.filled(f"{PROXY_ON} {FIRST}")])
    *lines, last = result.stdout.splitlines()
    assert result.exit_code == 0
    assert any(line.startswith("warning  globs           no glob is given: ") for line in lines)
    assert {line.split()[1] for line in lines} == {SETTINGS, *(each.name for each in CHECKS)}
    assert last.startswith(f"{sum(line.startswith('ok ') for line in lines)} ok, ")


def test_nothing_is_written(simulation: Simulation) -> None:
    """Neither HDFS nor ZooKeeper changes: the last transaction and the tree stay the same."""
    before = checked(*simulation.filled(DIRECT)).of("edits", "ok")
    tree = checked(
        *simulation.filled(f"{PUBLISHER_ON} {FIRST} --zookeeper {{zookeeper}} --zookeeper-root /none")
    )
    assert tree.exit_code == 0
    again = checked(
        *simulation.filled(f"{PROXY_ON} {FIRST} --zookeeper {{zookeeper}} --zookeeper-root /none")
    )
    assert "there is no /none" in again.of("nameservice", "failed")[0]
    assert checked(*simulation.filled(DIRECT)).of("edits", "ok") == before


def test_a_daemon_that_may_register(simulation: Simulation) -> None:
    """Its own entry is free, or leads to the running proxy. All other registered daemons answer."""
    words = simulation.filled(REGISTERS)
    with place_of_its_own(simulation.cluster) as place:
        where = ("--registry-root", place["registry_root"])
        proxying = ProxyDaemon(
            *(
                "--namenode-http",
                simulation["http"],
                "--namenode-rpc",
                simulation["rpc"],
                "--user",
                simulation["superuser"],
            ),
            *("--channel", "direct", "--registry", "--zookeeper", simulation["zookeeper"], *where),
        )
        with proxying as running_proxy, api.open_registry(**place) as registry:
            name = f"/services/nncache/components/proxy-127-0-0-1-{running_proxy.address.rpartition(':')[2]}"
            next(change for change in registry.changes(name) if isinstance(change, Present))
            running = checked(*words, *where, "--listen", running_proxy.address)
            assert f"{name} leads to {running_proxy.address}" in " ".join(running.of("registered", "ok"))
            other = checked(*words, *where, "--listen", free_address())
            assert "is free" in " ".join(other.of("registered", "ok"))
            assert "1 other daemons are registered, and all answer" in " ".join(other.of("stale", "ok"))
            assert "can be read" in " ".join(other.of("registry", "ok"))


@pytest.mark.parametrize(("command", "form"), [(proxy, PROXY), (publisher, PUBLISHER)])
def test_it_takes_the_words_of_the_daemon(command: click.Command, form: Form[Any]) -> None:
    """`check` takes every option of the daemons, so that their command line can be tried as it is."""
    shown = (each for each in command.params if not (isinstance(each, click.Option) and each.hidden))
    options = {option for parameter in shown for option in parameter.opts}
    assert options == {key.flag for key in form.keys.values()} | {"--config", "--strict", "--json"}


RESULTS = (
    CheckResult("states", (ok("a is active"), warning("b\nis slow", "wake it"))),
    CheckResult("edits", (failed("refused", "set --user"), skipped("c is away"))),
)


def test_a_line_for_each_finding() -> None:
    """A line break in a server's message is escaped."""
    assert [f"{verdict.value:<8} {rest}" for verdict, rest in lines(RESULTS)] == [
        "ok       states          a is active",
        "warning  states          b\\nis slow; to do: wake it",
        "failed   edits           refused; to do: set --user",
        "skipped  edits           because c is away",
    ]


def test_the_last_line_counts() -> None:
    """It counts every verdict and ends with the duration."""
    assert summary(RESULTS, 1.25) == "1 ok, 1 warning, 1 failed, 1 skipped in 1.2 s"


def test_json_has_all_of_it() -> None:
    """It is one object, with the exit code."""
    printed = json.loads(report_as_json(RESULTS, 1))
    assert printed["exit_code"] == 1
    assert printed["findings"][2] == {
        "check": "edits",
        "verdict": "failed",
        "text": "refused",
        "remedy": "set --user",
    }
    assert len(printed["findings"]) == 4


def test_of_several_namespaces_each_is_named() -> None:
    """The line has the namespace, and the JSON has a key for it."""
    results = (CheckResult("states", (ok("a is active"),), "lake"),)
    assert [rest for _, rest in lines(results)] == ["states          [lake] a is active"]
    (finding,) = json.loads(report_as_json(results, 0))["findings"]
    assert (finding["namespace"], finding["text"]) == ("lake", "a is active")
