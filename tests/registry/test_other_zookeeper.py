"""The registry on the ZooKeeper release after the one in Hadoop."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nncache.testbed.four_letters import ask
from nncache.testbed.zookeepers import ZooKeeperServer

pytestmark = pytest.mark.long  # the first run downloads about 10 MB from Maven

RELEASE = "3.9.5"
FILES = ("test_operations.py", "test_tree_reading.py", "test_tree_watch.py", "test_auditing.py")


def test_the_registrys_tests_pass_on_it() -> None:
    """All tests that need a ZooKeeper run in their own session with ZOOKEEPER set."""
    here = Path(__file__).parent
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-n", "0", "-q", *(str(here / name) for name in FILES)),
        env={**os.environ, "ZOOKEEPER": RELEASE},
        cwd=here.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_that_release() -> None:
    """The server reports that version."""
    with ZooKeeperServer(version=RELEASE) as server:
        assert f"Zookeeper version: {RELEASE}-" in ask(server.address, "srvr")
