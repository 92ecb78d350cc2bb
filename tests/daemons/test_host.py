"""A machine's name is its own."""

import socket
from pathlib import Path

from nncache.daemons.host import host_name


def test_it_is_the_host_name_and_the_boot() -> None:
    """The same for every process of one boot; people find the machine by it."""
    assert host_name() == host_name()
    assert host_name().startswith(socket.gethostname())


def test_two_machines_of_one_name_differ(tmp_path: Path) -> None:
    """Each kernel draws an id of its own when it boots."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("3f0c9a52-1b6e-4a0e-9a53-77f1b0a9c111\n")
    other.write_text("a1b2c3d4-1b6e-4a0e-9a53-77f1b0a9c111\n")
    assert host_name(one) == f"{socket.gethostname()}-3f0c9a52"
    assert host_name(one) != host_name(other)


def test_without_a_boot_id_the_host_name_must_do(tmp_path: Path) -> None:
    """As in a container without /proc."""
    assert host_name(tmp_path / "absent") == socket.gethostname()
