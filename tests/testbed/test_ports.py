"""Leases of ports."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from nncache.testbed.errors import PortError
from nncache.testbed.ports import PortLease

HOLDER = """
import sys
from pathlib import Path
from nncache.testbed.ports import PortLease
lease = PortLease(Path(sys.argv[1]))
print(lease.take(), flush=True)
sys.stdin.read()
"""


def test_no_two_leases_are_the_same(tmp_path: Path) -> None:
    """Leases are distinct within one holder and between two."""
    with PortLease(tmp_path) as one, PortLease(tmp_path) as two:
        taken = [lease.take() for _ in range(20) for lease in (one, two)]
    assert len(set(taken)) == len(taken)


def test_leases_lie_below_the_ephemeral_range(tmp_path: Path) -> None:
    """An outgoing connection must not be given the port of a server that is being restarted."""
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    with PortLease(tmp_path) as lease:
        assert all(lease.take() < low for _ in range(20))


def test_a_lease_is_exclusive_and_ends_with_its_holder(tmp_path: Path) -> None:
    """A killed holder releases its leases."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        port = int(holder.stdout.readline())
        with PortLease(tmp_path) as lease:
            with pytest.raises(PortError, match=f"port {port} is taken"):
                lease.take(port)
            holder.kill()
            holder.wait()
            assert lease.take(port) == port


def test_a_released_port_can_be_taken_again(tmp_path: Path) -> None:
    """A release frees the lock, not only the number."""
    with PortLease(tmp_path) as one, PortLease(tmp_path) as two:
        port = one.take()
        one.release()
        assert two.take(port) == port


def test_a_port_in_use_is_not_leased(tmp_path: Path) -> None:
    """Servers that do not use leases are respected."""
    with (
        PortLease(tmp_path) as lease,
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(PortError),
    ):
        lease.take(server.getsockname()[1])
