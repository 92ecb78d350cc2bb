"""A report says what it was made on, and not whose that is."""

import os
import socket

from nncache.bench.machine import described


def test_the_machine_is_described_and_not_named() -> None:
    """Everything has a value; none of them is the host's name."""
    found = described()
    assert found["cores"] == str(os.cpu_count())
    assert found["system"].startswith("Linux ")
    assert int(found["memory"].removesuffix(" GiB")) > 0
    assert found["processor"]
    assert socket.gethostname() not in " ".join(found.values()).split()
