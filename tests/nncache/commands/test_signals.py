"""A running proxy as a service manager sees it: notified, reloaded a hundred times, ended without a failed request."""

import http.client
import json
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from nncache.testbed import Cluster
from tests.nncache.processes import fetched, free_address, running
from tests.patience import HANG_S

RELOADS = 100
CLIENTS = 8
KEPT = "/webhdfs/v1/reloaded/{}/_SUCCESS?op=GETFILESTATUS&user.name=joe"
NO_FILTER = "nncache; fwd=bypass; detail=no-filter"


@contextmanager
def manager(path: Path) -> Iterator[socket.socket]:
    """Listen as a service manager does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.settimeout(HANG_S)
        end.bind(str(path))
        yield end


def heard(end: socket.socket, state: str) -> None:
    """Wait for a state; signs of life may come before."""
    while not (text := end.recv(4096).decode()).startswith(state):
        assert text == "WATCHDOG=1", text


class Clients:
    """Poll on kept connections until told to end; who finds one closed while it was idle connects again, as all do."""

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
            time.sleep(0.001)  # a poller's pace; what is wanted is many reloads under load
        connection.close()


@pytest.mark.timeout(240)
def test_reloads_and_the_end_cost_no_request(cluster: Cluster, tmp_path: Path) -> None:
    """SIGHUP takes globs over and keeps what is cached; SIGTERM fails /ready first, serves on, then drains."""
    listen, admin = free_address(), free_address()
    namenode, file, log = cluster.namenodes[0], tmp_path / "nncache.toml", tmp_path / "log"

    def write(*globs: str, level: str = "info", calls: int = 1000) -> None:
        file.write_text(
            f'listen = "{listen}"\nadmin = "{admin}"\nuser = "{cluster.superuser}"\nlame_duck_s = 1.0\n'
            f'namenode_http = ["{namenode.http}"]\nnamenode_rpc = ["{namenode.rpc}"]\n'
            f'glob = {json.dumps(globs)}\nlog_level = "{level}"\nmax_calls = {calls}\n'
        )

    def cache_status() -> str:
        ((_, said, _),) = fetched(listen, KEPT.format("mine"))
        return said

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
            time.sleep(0.05)  # asked again until the deadline of the test
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
        assert process.wait(timeout=HANG_S) == 0  # a load balancer has sent the clients elsewhere
        assert set(clients.statuses) == {404}
        assert clients.statuses.total() > RELOADS
    lines = log.read_text()
    assert lines.count("SIGHUP: settings were read again; changed: glob\n") == RELOADS
    assert (
        "WARNING nncache.daemons.reloader: SIGHUP: settings were read again; changed: glob; needs a restart: max_calls"
        in lines
    )
    assert f"SIGHUP: the settings in force stay, the new ones are wrong: {file}: is not TOML" in lines
    assert "SIGUSR1: ignored" in lines


def test_the_logs_of_requests_follow_logrotate(tmp_path: Path) -> None:
    """SIGHUP opens them again, even beside a wrong file of settings; what was written stays where it was moved."""
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
            time.sleep(0.05)  # written within a moment; asked again until the deadline of the test

    with running("proxy", "--config", str(file), log=log) as process:
        while not fetched(listen, "/first"):
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)  # asked again until the deadline of the test
        assert fetched(admin, "/explain?path=/x")[0][0] == 200
        wait_for("start", "request-refused", "page-called")
        for path in (access, audit):
            path.rename(path.with_suffix(".1"))
        file.write_text("glob = [")
        process.send_signal(signal.SIGHUP)
        wait_for("reload")
        fetched(listen, "/second")
        wait_for("reload", "request-refused")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANG_S) == 0
    assert events(audit) == ["reload", "request-refused", "stop", "end"]
    for path, target in ((access.with_suffix(".1"), "/first"), (access, "/second")):
        line = path.read_text()
        assert line.startswith("127.0.0.1 - - [")
        assert f'] "GET {target}" 404 ' in line
        assert line.count("\n") == 1
