"""`nncache fleet` with three proxies of one cluster: all serve, then one is killed and another hangs."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from nncache.registry.daemon_record import PROXY, RegisteredDaemon
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import make_directory
from tests.patience import HANG_S, until
from tests.processes import fetched
from tests.real.faults import paused
from tests.registry.samples import serving

GLOB = "/fleet/*"
FILE = "/fleet/_SUCCESS"
ASK = f"/webhdfs/v1{FILE}?op=GETFILESTATUS&user.name=alice"
COMMANDS = (("status",), ("top", "--once"), ("explain", FILE), ("purge", FILE))


@pytest.fixture
def proxies(cluster: Cluster, place: dict[str, str]) -> Iterator[tuple[ProxyDaemon, ...]]:
    """Yield three registered proxies that have cached a 404."""
    make_directory(cluster, "/fleet")
    with ExitStack() as started:
        three = tuple(started.enter_context(serving(cluster, place, GLOB)) for _ in range(3))
        for proxy in three:
            proxy.await_gate()
            _keep(proxy)
            _await_registered(proxy)
        yield three


def _await_registered(proxy: ProxyDaemon) -> None:
    until(lambda: proxy.metrics()["nncache_registered"] == 1.0)


def _keep(proxy: ProxyDaemon) -> None:
    until(lambda: "; hit" in fetched(proxy.address, ASK)[0][1])


def name_of(proxy: ProxyDaemon) -> str:
    """Return the proxy's name in the registry."""
    host, _, port = proxy.address.rpartition(":")
    return RegisteredDaemon(kind=PROXY, host=host, port=int(port), admin="").path.rpartition("/")[2]


def begun(place: dict[str, str], *words: str) -> subprocess.Popen[str]:
    """Start `nncache fleet` with these words."""
    where = ("--zookeeper", place["zookeeper"], "--registry-root", place["registry_root"])
    program = Path(sys.executable).with_name("nncache")
    return subprocess.Popen(
        (program, "fleet", *words, *where), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return the exit code, standard output and standard error."""
    printed, complained = process.communicate(timeout=HANG_S)
    return process.returncode, printed, complained


def asked(place: dict[str, str], *words: str) -> tuple[int, str, str]:
    """Run the command to its end; return the same."""
    return ended(begun(place, *words))


def looked_at(place: dict[str, str]) -> str:
    """Return the terminal output of `nncache fleet top` until all proxies answer and Ctrl-C ends it."""
    ours, theirs = pty.openpty()
    words = ("fleet", "top", "--zookeeper", place["zookeeper"], "--registry-root", place["registry_root"])
    environ = os.environ | {"COLUMNS": "120", "TERM": "xterm"}
    program = Path(sys.executable).with_name("nncache")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # children inherit an ignored SIGINT
    with subprocess.Popen(
        (program, *words), stdin=theirs, stdout=theirs, stderr=theirs, env=environ
    ) as running:
        signal.signal(signal.SIGINT, before)
        os.close(theirs)
        shown = b""
        try:
            while b"3 of 3 registered proxies" not in shown:
                assert select.select([ours], [], [], HANG_S)[0], shown
                shown += os.read(ours, 65_536)
            running.send_signal(signal.SIGINT)
            with suppress(OSError):  # EIO on Linux: the other end is closed
                while select.select([ours], [], [], HANG_S)[0]:
                    shown += os.read(ours, 65_536)
            assert running.wait(HANG_S) == 0, shown
        finally:
            running.kill()
            os.close(ours)
    return shown.decode()


def is_kept(proxy: ProxyDaemon) -> bool:
    """Return whether the proxy has cached the answer."""
    return proxy.explain(FILE)["entry"] is not None


def test_all_are_asked_and_what_failed_is_named(
    place: dict[str, str], proxies: tuple[ProxyDaemon, ...]
) -> None:
    """The exit code is 0 if all succeeded, and 1 with the failed ones named. A hanging proxy delays no other."""
    names = sorted(map(name_of, proxies))
    code, printed, complained = asked(place, "status")
    assert (code, complained) == (0, "")
    assert [line.split("  ")[0] for line in printed.splitlines()] == names
    assert printed.count("ready  gate open") == 3

    code, printed, _ = asked(place, "explain", FILE, "--json")
    documents: dict[str, Any] = json.loads(printed)
    assert (code, documents["failed"]) == (0, {})
    assert {name: each["answer"] for name, each in documents["proxies"].items()} == dict.fromkeys(
        names, "hit"
    )

    assert asked(place, "purge", FILE) == (
        0,
        "".join(f"{name}: forgotten: {FILE}\n" for name in names),
        "",
    )
    assert not any(map(is_kept, proxies))

    assert "3 of 3 registered proxies answer" in looked_at(place)

    good, gone, hanging = proxies
    _keep(good)
    gone.kill()
    with paused(hanging.process):
        processes = [begun(place, *words, "--timeout", "10") for words in COMMANDS]
        results = dict(zip(COMMANDS, map(ended, processes), strict=True))
        assert not is_kept(good)
    for (command, *_), (code, printed, complained) in results.items():
        assert code == 1, (command, complained)
        assert name_of(good) in printed
        faults = complained.splitlines()
        assert sorted(faults[:-1]) == faults[:-1]
        assert any(f"{name_of(hanging)}: no answer within 10 s" in fault for fault in faults)
        assert any(f"{name_of(gone)}: cannot connect to 127.0.0.1:" in fault for fault in faults)
        assert faults[-1].endswith("1 of 3 registered proxies")
    assert results["purge", FILE][1] == f"{name_of(good)}: forgotten: {FILE}\n"


def test_without_a_proxy_none_was_asked(cluster: Cluster, place: dict[str, str]) -> None:
    """The exit code is 2: a purge that reached no cache is no success, and a missing registry is an error."""
    code, printed, complained = asked(place, "purge", FILE)
    assert (code, printed) == (2, "")
    assert "there is no registry at" in complained
    with serving(cluster, place, GLOB) as proxy:
        _await_registered(proxy)
    code, printed, complained = asked(place, "purge", FILE)
    assert (code, printed) == (2, "")
    assert f"no proxy is registered at {place['registry_root']}/services/nncache/components" in complained
