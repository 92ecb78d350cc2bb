"""The notifications to systemd, read from the test's own socket."""

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nncache.daemons.service_manager import ServiceManager
from tests.patience import HANG_S
from tests.proxy.doubles import let_tasks_run


@contextmanager
def reported(name: str) -> Iterator[socket.socket]:
    """Listen on a notification socket, as a service manager does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.settimeout(HANG_S)
        end.bind(name)
        yield end


def test_states_are_sent(tmp_path: Path) -> None:
    """Each state is one datagram."""
    with reported(str(tmp_path / "notify")) as end:
        manager = ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        manager.ready()
        assert end.recv(4096) == b"READY=1"
        before = time.monotonic_ns() // 1000
        manager.reloading()
        state, _, at = end.recv(4096).decode().partition("\nMONOTONIC_USEC=")
        assert state == "RELOADING=1"
        assert before <= int(at) <= time.monotonic_ns() // 1000
        manager.stopping()
        assert end.recv(4096) == b"STOPPING=1"


def test_states_are_sent_to_an_abstract_socket_as_well() -> None:
    """Its name begins with @ in the environment, and with a null byte in the kernel."""
    name = f"nncache-test-{os.getpid()}-{time.monotonic_ns()}"
    with reported(f"\0{name}") as end:
        ServiceManager({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert end.recv(4096) == b"READY=1"


@pytest.mark.parametrize(
    ("environ", "beat_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "3000000"}, 1.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 1.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_signs_of_life_are_due_as_the_environment_says(environ: dict[str, str], beat_s: float | None) -> None:
    """Three are due per period if the watchdog is meant for this process (sd_watchdog_enabled(3))."""
    assert ServiceManager({"NOTIFY_SOCKET": "/nowhere", **environ}).beat_s == beat_s
    assert ServiceManager(environ).beat_s is None


async def test_signs_of_life_come_until_the_end(tmp_path: Path) -> None:
    """The event loop sends them."""
    with reported(str(tmp_path / "notify")) as end:
        manager = ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "3000"})
        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            beating = tasks.create_task(manager.beat())
            for _ in range(3):
                assert await asyncio.to_thread(end.recv, 4096) == b"WATCHDOG=1"
            beating.cancel()


async def test_without_a_manager_nothing_is_sent() -> None:
    """The daemon runs without one."""
    manager = ServiceManager({})
    manager.ready()
    manager.reloading()
    manager.stopping()
    async with asyncio.TaskGroup() as tasks:
        beating = tasks.create_task(manager.beat())
        await let_tasks_run()
        assert not beating.done()
        beating.cancel()


def test_a_manager_that_does_not_listen_costs_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """The daemon serves nevertheless."""
    ServiceManager({"NOTIFY_SOCKET": "/nowhere/notify"}).ready()
    assert caplog.messages == [
        "cannot tell the service manager READY=1: /nowhere/notify: [Errno 2] No such file or directory"
    ]
