"""A running proxy under a service manager: notification, a hundred reloads, and a stop without a failed request."""

import asyncio
import http.client
import json
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from nncache.testbed import Cluster
from tests.patience import HANG_S
from tests.processes import fetched, free_address, running
from tests.steady_load import SteadyLoad

RELOADS = 100
CLIENTS = 8
KEPT = "/webhdfs/v1/reloaded/{}/_SUCCESS?op=GETFILESTATUS&user.name=joe"
LISTED = "/webhdfs/v1/?op=LISTSTATUS&user.name=joe"
PER_S = 1_000
NO_FILTER = "nncache; fwd=bypass; detail=no-filter"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses on which a proxy listens."""

    listen: str
    admin: str


@contextmanager
def manager(path: Path) -> Iterator[socket.socket]:
    """Listen on the notification socket, as a service manager does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.settimeout(HANG_S)
        end.bind(str(path))
        yield end


def heard(end: socket.socket, state: str) -> None:
    """Wait for a state; watchdog messages may come before it."""
    while not (text := end.recv(4096).decode()).startswith(state):
        assert text == "WATCHDOG=1", text


class Clients:
    """Poll on keep-alive connections. As HTTP clients do, reconnect when an idle connection was closed."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._is_over = threading.Event()
        self.statuses = Counter[int | str]()
        self._threads = [threading.Thread(target=self._poll, args=(number,)) for number in range(CLIENTS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _poll(self, number: int) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=HANG_S)
        while not self._is_over.is_set():
            is_kept = connection.sock is not None
            try:
                connection.request("GET", KEPT.format(number))
                reply = connection.getresponse()
                reply.read()
                self.statuses[reply.status] += 1
            except (ConnectionError, http.client.BadStatusLine):
                connection.close()
                self.statuses[""] += not is_kept
            time.sleep(0.001)  # a poller's interval; the test needs many reloads under load
        connection.close()


@pytest.mark.timeout(240)
def test_reloads_and_the_end_cost_no_request(cluster: Cluster, tmp_path: Path) -> None:
    """SIGHUP applies new globs and keeps the cache. SIGTERM first fails /ready, then keeps serving, then drains."""
    listen, admin = free_address(), free_address()
    namenode, file, log = cluster.namenodes[0], tmp_path / "nncache.toml", tmp_path / "log"
    audit = tmp_path / "audit"

    def write(*globs: str, level: str = "info", calls: int = 1000) -> None:
        file.write_text(
            f'listen = "{listen}"\nadmin = "{admin}"\nuser = "{cluster.superuser}"\nlame_duck_s = 1.0\n'
            f'namenode_http = ["{namenode.http}"]\nnamenode_rpc = ["{namenode.rpc}"]\n'
            f'glob = {json.dumps(globs)}\nlog_level = "{level}"\nmax_calls = {calls}\n'
            f'audit_log = "{audit}"\n'
        )

    def cache_status() -> str:
        ((_, value, _),) = fetched(listen, KEPT.format("mine"))
        return value

    write("/reloaded/*/_SUCCESS")
    notify = tmp_path / "notify"
    with (
        manager(notify) as end,
        running(
            "proxy", "--config", str(file), log=log, NOTIFY_SOCKET=str(notify), WATCHDOG_USEC="3000000"
        ) as process,
    ):
        heard(end, "READY=1")
        heard(end, "WATCHDOG=1")

        def reload() -> None:
            process.send_signal(signal.SIGHUP)
            heard(end, "RELOADING=1")
            heard(end, "READY=1")

        while not any('"gate": "open"' in body for _, _, body in fetched(admin, "/ready")):
            time.sleep(0.05)  # polled until the test's timeout
        assert cache_status() == "nncache; fwd=miss; stored"
        with Clients(listen) as clients:
            for number in range(RELOADS):
                write("/reloaded/*/_SUCCESS", *(f"/other/{each}" for each in range(number + 1)))
                reload()
            assert cache_status() == "nncache; hit"
            write("/else/*", calls=999)
            reload()
            assert cache_status() == NO_FILTER
            file.write_text("glob = [")
            reload()
            assert cache_status() == NO_FILTER
            process.send_signal(signal.SIGUSR1)
            process.send_signal(signal.SIGTERM)
            heard(end, "STOPPING=1")
            ((status, _, body),) = fetched(admin, "/ready")
            assert (status, json.loads(body)["reason"]) == (503, "stopping")
            assert cache_status() == NO_FILTER
        assert process.wait(timeout=HANG_S) == 0  # a load balancer would have moved the clients elsewhere
        assert set(clients.statuses) == {404}
        assert clients.statuses.total() > RELOADS
    lines = log.read_text()
    outcomes = Counter(json.loads(line).get("outcome") for line in audit.read_text().splitlines())
    assert outcomes["changed: glob"] == RELOADS  # the log limits the lines of one place
    assert "SIGHUP: settings were read again; changed: glob\n" in lines
    assert (
        "WARNING nncache.daemons.reloader: SIGHUP: settings were read again; changed: glob; needs a restart: max_calls"
        in lines
    )
    assert f"SIGHUP: the settings in force stay, the new ones are wrong: {file}: is not TOML" in lines
    assert "SIGUSR1: ignored" in lines


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_reloads_and_the_end_under_a_thousand_requests_a_second(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Keep-alive clients behind a load balancer that polls /ready: a hundred reloads and a stop fail no request.

    After /ready fails, new connections go to another proxy. Kept ones are closed while idle.
    """
    first, second = (Addresses(free_address(), free_address()) for _ in range(2))
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    files = [tmp_path / "first.toml", tmp_path / "second.toml"]

    def write(file: Path, at: Addresses, others: int) -> None:
        globs = json.dumps(["/reloaded/*/_SUCCESS", *(f"/other/{number}" for number in range(others))])
        namenode = cluster.namenodes[0]
        file.write_text(
            f'listen = "{at.listen}"\nadmin = "{at.admin}"\nuser = "{cluster.superuser}"\nlame_duck_s = 2.0\n'
            f'namenode_http = ["{namenode.http}"]\nnamenode_rpc = ["{namenode.rpc}"]\nglob = {globs}\n'
        )

    def is_ready(at: Addresses) -> bool:
        return any(status == 200 for status, _, _ in fetched(at.admin, "/ready"))

    async def balance() -> None:
        """Poll /ready five times a second, as a load balancer does."""
        while True:
            healthy[:] = [at.listen for at in (first, second) if await asyncio.to_thread(is_ready, at)]
            await asyncio.sleep(0.2)  # the poll interval

    async def until(is_so: Callable[[], bool]) -> None:
        while not is_so():
            assert other.poll() is None, logs[1].read_text()
            await asyncio.sleep(0.02)  # polled until the test's timeout

    def reloads() -> int:
        return logs[0].read_text().count("SIGHUP: settings were read again; changed: glob\n")

    healthy: list[str] = []
    write(files[0], first, 0)
    write(files[1], second, 0)
    with (
        running("proxy", "--config", str(files[0]), log=logs[0]) as process,
        running("proxy", "--config", str(files[1]), log=logs[1]) as other,
    ):
        async with asyncio.TaskGroup() as beside:
            balancing = beside.create_task(balance())
            await until(lambda: len(healthy) == 2)
            async with SteadyLoad(PER_S, lambda: healthy[0], (*[KEPT] * 9, LISTED)) as load:
                began_at = time.monotonic()
                for number in range(RELOADS):
                    write(files[0], first, number + 1)
                    process.send_signal(signal.SIGHUP)
                    await until(lambda: reloads() > number)  # noqa: B023 - called at once
                    await until(lambda: load.due >= PER_S / 10 * (number + 1))  # noqa: B023 - the same
                beside_reloads, reloaded_s = load.due, time.monotonic() - began_at
                assert load.servers.keys() == {first.listen}
                process.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(process.wait, HANG_S) == 0
                await until(lambda: load.servers[second.listen] >= PER_S)
            balancing.cancel()
    print(  # noqa: T201 - figures for the report
        f"{RELOADS} reloads in {reloaded_s:.1f} s, beside {beside_reloads:,} requests; {load.due:,} with the stop, "
        f"{load.retried} of them sent again on a connection closed while idle; failed: {dict(load.failed)}"
    )
    assert load.failed == {}
    assert load.statuses.keys() == {200, 404}
    assert load.statuses.total() == load.due
    assert beside_reloads >= RELOADS * PER_S / 10
    assert reloads() == RELOADS
    assert "SIGTERM: " in logs[0].read_text()


def test_the_logs_of_requests_follow_logrotate(tmp_path: Path) -> None:
    """SIGHUP reopens them, even when the settings file is wrong or empty. Rotated files keep their lines."""
    listen, admin = free_address(), free_address()
    file, log, access, audit = (tmp_path / name for name in ("nncache.toml", "log", "access", "audit"))
    file.write_text(
        f'listen = "{listen}"\nadmin = "{admin}"\nnamenode_http = ["{free_address()}"]\n'
        f'namenode_rpc = ["{free_address()}"]\naccess_log = "{access}"\naudit_log = "{audit}"\n'
    )

    def events(path: Path) -> list[str]:
        return [json.loads(line)["event"] for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for(*names: str) -> None:
        while events(audit) != list(names):
            time.sleep(0.05)  # written within a moment; polled until the test's timeout

    with running("proxy", "--config", str(file), log=log) as process:
        while not any("no-active-namenode" in body for _, _, body in fetched(admin, "/ready")):
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)  # polled until the test's timeout
        fetched(listen, "/first")
        assert fetched(admin, "/explain?path=/x")[0][0] == 200
        wait_for("start", "request-refused", "page-called")
        for path in (access, audit):
            path.rename(path.with_suffix(".1"))
        file.write_text("glob = [")
        process.send_signal(signal.SIGHUP)
        wait_for("reload")
        fetched(listen, "/second")
        wait_for("reload", "request-refused")
        file.write_text("")  # as an editor that writes in two steps leaves it briefly
        process.send_signal(signal.SIGHUP)
        wait_for("reload", "request-refused", "reload")
        assert f"{file}: is empty, and was not when it was last read" in log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANG_S) == 0
    assert events(audit) == ["reload", "request-refused", "reload", "stop", "end"]
    for path, target in ((access.with_suffix(".1"), "/first"), (access, "/second")):
        line = path.read_text()
        assert line.startswith("127.0.0.1 - - [")
        assert f'] "GET {target}" 404 ' in line
        assert line.count("\n") == 1
