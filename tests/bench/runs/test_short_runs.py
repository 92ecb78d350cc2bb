"""A short run of each benchmark: the figures that hold on any machine, however slow, and the files it writes."""

import json
import shutil
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

from nncache.bench import (
    connects,
    events,
    growth,
    inotify,
    light,
    memory,
    namenode,
    request_cost,
    secured_hits,
    staleness,
    waiting,
)

PATH = "/usr/local/bin:/usr/bin:/usr/sbin"

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def needs(*programs: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test without these programs."""
    missing = [name for name in programs if shutil.which(name, path=PATH) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def run(
    command: click.Command, out: Path, *arguments: str, always: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Run a benchmark; return its figures. Those in `always` must be met on any machine; others may fall short."""
    done = CliRunner().invoke(command, [*arguments, "--out", str(out)], catch_exceptions=False)
    assert done.exit_code in {0, 1}, done.output
    for each in always:
        assert f"met   {each}" in done.output, done.output
    fallen = any(line.startswith("SHORT") for line in done.output.splitlines())
    assert fallen == (done.exit_code == 1)
    return list(json.loads((out / "figures.json").read_text(encoding="utf-8")))


def rounds_in(out: Path) -> list[dict[str, Any]]:
    """Return the rounds that a run wrote."""
    return list(json.loads((out / "rounds.json").read_text(encoding="utf-8")))


def value(figures: list[dict[str, Any]], what: str) -> float:
    """Return the value of the one figure whose text ends with `what`."""
    (found,) = (each["value"] for each in figures if each["what"].endswith(what))
    return float(found)


@needs("wrk", "nginx", "haproxy")
def test_each_shape_of_request_is_measured(tmp_path: Path) -> None:
    """Each has a round of two seconds; no request through nncache fails."""
    always = "requests through nncache that fail: 0"
    sizes = ("--seconds", "2", "--rounds", "1", "--warm-up", "5")  # 10,000 connects take a busy machine 1 s
    figures = run(request_cost.main, tmp_path, *sizes, always=(always,))
    rounds = rounds_in(tmp_path)
    measured = {(each["what"], each["server"]) for each in rounds}
    assert measured == {(shape, name) for shape, names in request_cost.SERVERS.items() for name in names}
    assert all(each["requests"] > 0 for each in rounds)
    assert value(figures, "an idle connection after a few requests, nncache") > 0
    assert (tmp_path / "chart.svg").exists()


@needs("wrk", "nginx")
def test_each_growth_is_measured(tmp_path: Path) -> None:
    """Each has a short round with small caches; only hits are measured."""
    arguments = ("--seconds", "0.5", "--rounds", "1", "--warm-up", "0.5", "--max-entries", "10000")
    always = (
        "requests through nncache that fail: 0",
        "share of a round's requests that reach the NameNode",
        "share of the entries said that are held",
    )
    run(growth.main, tmp_path, *arguments, always=always)
    rounds = rounds_in(tmp_path)
    for each in growth.Growth:
        ways = {round_["what"].rpartition(", ")[2] for round_ in rounds if round_["what"].startswith(each)}
        assert ways == ({*growth.HitPath} if each in growth.MAX_GROWTH else {growth.HitPath.KNOWN})
    assert all(each["requests"] > 0 for each in rounds)
    assert (tmp_path / "chart.svg").exists()


@needs("wrk", "nginx", "krb5kdc")
def test_secured_hits_are_measured(tmp_path: Path) -> None:
    """Each way of asking is measured, and no request is refused."""
    run(secured_hits.main, tmp_path, "--seconds", "1", "--rounds", "1", always=("requests that fail: 0",))
    assert len({each["server"] for each in rounds_in(tmp_path)}) == 6


@pytest.mark.parametrize("cold", [(), ("--cold",)])
def test_a_storm_of_connects_is_measured(tmp_path: Path, cold: tuple[str, ...]) -> None:
    """No request fails and all are hits, however long they take."""
    always = ("requests that fail: 0", "answers not from memory: the gate was closed: 0")
    run(connects.main, tmp_path, "--connects", "500", "--rounds", "1", *cold, always=always)
    for each in rounds_in(tmp_path):
        assert all(len(each[name]) == 3 for name in ("each", "before", "meanwhile", "after", "late"))


@pytest.mark.parametrize("channel", ["direct", "zookeeper"])
def test_clients_that_wait_are_measured(tmp_path: Path, channel: str) -> None:
    """Each client has its answer, and no wait costs a NameNode call."""
    arguments = ("--clients", "200", "--paths", "20", "--over", "2", "--quiet", "2", "--channel", channel)
    always = (
        "calls of the NameNode in 2 s of waiting, but the gate's own: 0",
        *(
            f"{what}: clients of 200 without an answer: 0"
            for what in ("20 files in 2 s", "10 waves of 2 files")
        ),
        "one file for all: clients of 200 without an answer: 0",
    )
    figures = run(waiting.main, tmp_path, *arguments, always=always)
    assert value(figures, "one file for all: polls of others, p99") < 60


def test_starts_of_a_publisher_are_measured(tmp_path: Path) -> None:
    """Each start has its own count of calls."""
    figures = run(inotify.main, tmp_path, "--part", "starts", "--filters", "40", "--restarts", "1")
    for what in ("restart 1 with 40 filters", "start with 40 filters"):
        of_start = [each for each in figures if each["what"].startswith(what)]
        assert 0 < value(of_start, "in force after") <= value(of_start, "read from HDFS after")
        assert value(of_start, "for attributes") == 40, "each definition once"
        assert 0 < value(of_start, "calls of the NameNode") < 40
        assert value(of_start, "calls of ZooKeeper") > 0
        assert value(of_start, "CPU of the publisher") > 0
        assert value(of_start, "waiting for a CPU") > 0


def test_delivery_catching_up_and_a_flood_are_measured(tmp_path: Path) -> None:
    """No event is lost, silently missing or out of order."""
    parts = ("--part", "delivery", "--part", "catch-up", "--part", "overload")
    sizes = ("--delivering", "50", "--subscribers", "10", "--seconds", "15", "--backlog", "5000")
    figures = run(inotify.main, tmp_path, *parts, *sizes)
    assert value(figures, "events to 10 subscribers") == 150
    assert value(figures, "edits read in all") == 5000
    for what in ("missing in silence", "delivered twice or out of order", "the other tenant's gaps"):
        assert value(figures, what) == 0
    assert value(figures, "within gaps that were named") > 0


def test_events_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All three happen, in order, and most polls are hits."""
    for name, seconds in (("QUIET_S", 6.0), ("OUTAGE_S", 2.0), ("WARM_UP_S", 1.0)):
        monkeypatch.setattr(events, name, seconds)
    run(events.main, tmp_path, "--pollers", "40", "--period", "0.5")
    (course,) = (msgspec.convert(each, events.Course) for each in rounds_in(tmp_path))
    caused = ["restart of the proxy", "2 s without ZooKeeper", "NameNode failover"]
    assert [each.what for each in course.events] == caused
    assert all(each.from_s < each.until_s for each in course.events)
    assert course.count() == len(course.polls) * 80
    assert course.count(events.FAILED) < course.count(events.MEMORY)
    assert (tmp_path / "chart.svg").stat().st_size > 10_000


def test_a_namespace_in_zookeeper_is_measured(tmp_path: Path) -> None:
    """Each operation has the CPU of each kind of process; the namespace is also measured at larger sizes."""
    sizes = ("--calls", "5", "--sizes", "1", "--files", "300", "--without-hdfs")
    figures = run(namenode.main, tmp_path, *sizes)
    assert value(figures, "listing of 300 entries") > 0
    assert value(figures, "restart of ZooKeeper") > 0
    rounds = rounds_in(tmp_path)
    assert [each["operation"] for each in rounds] == list(light.OPERATIONS)
    assert all(set(each["cpu_of"]) == {"NameNodes", "DataNode", "ZooKeeper"} for each in rounds)


def test_a_light_cluster_is_measured_beside_a_real_one(tmp_path: Path) -> None:
    """Each operation is measured at each of the three."""
    run(light.main, tmp_path, "--calls", "5")
    measured = [(each["server"], each["operation"]) for each in rounds_in(tmp_path)]
    servers = ("HDFS 3.5.0", "light", "light --directory")
    assert measured == [(server, operation) for server in servers for operation in light.OPERATIONS]


def test_staleness_is_measured(tmp_path: Path) -> None:
    """Both edits sources are measured, in an empty segment and in one with edits; each change is seen."""
    figures = run(staleness.main, tmp_path, "--seconds", "1", "--transactions", "200")
    assert all(each["value"] > 0 for each in figures if each["what"].endswith((": changes", "p99")))
    assert len([each for each in figures if each["what"].endswith(": changes")]) == 4


def test_memory_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shape is measured in processes of its own; no memory of invalidated entries is left."""
    monkeypatch.setattr(memory, "POLLED", 200)
    figures = run(memory.main, tmp_path, "1000")
    for shape in memory.SHAPES:
        assert value(figures, f"{shape.name}: statuses that are held") > 0
    assert value(figures, "in round 5") == 1.0
