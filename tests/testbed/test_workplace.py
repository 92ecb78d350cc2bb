"""A directory in which servers run."""

import sys
from pathlib import Path

import pytest

from nncache.testbed.java import JavaRuntime
from nncache.testbed.workplace import workplace

RUNTIME = JavaRuntime(java=sys.executable, jars=())


def test_a_temporary_one_is_removed() -> None:
    """With all that is in it."""
    with workplace(RUNTIME, "x", directory=None, user="hdfs", start_timeout_s=5) as place:
        assert place.directory.name.startswith("nncache-x-")
        (place.logs / "x.log").touch()
    assert not place.directory.exists()


def test_one_that_was_given_is_kept(tmp_path: Path) -> None:
    """For the next start."""
    for number in range(2):
        with workplace(RUNTIME, "x", directory=tmp_path / "a/b", user="hdfs", start_timeout_s=5) as place:
            assert place.directory == tmp_path / "a/b"
            assert (place.data / "kept").exists() == bool(number)
            (place.data / "kept").touch()


def test_a_server_reads_its_configuration_and_writes_its_log_there() -> None:
    """Under its own name, as the user given."""
    with workplace(RUNTIME, "x", directory=None, user="hdfs", start_timeout_s=5) as place:
        server = place.server("quick", "Main", "argument", is_up=lambda: True, jvm=("-Xmx64m",))
        assert server.log == place.logs / "quick.log"
        server.launch()  # Python does not know Java's options, and says so
        assert server.wait(20)
        assert "unknown option" in server.log.read_text(encoding="utf-8").lower()


def test_what_still_runs_is_killed_at_the_end() -> None:
    """A server that nobody stopped would hold its directory."""
    sleeper = JavaRuntime(java="/bin/sh", jars=())
    with workplace(sleeper, "x", directory=None, user="hdfs", start_timeout_s=5) as place:
        server = place.server("x", "Main", is_up=lambda: True, jvm=())
        server.launch()
    assert server.wait(20)


@pytest.mark.parametrize("place", ["logs", "data", "conf_dir"])
def test_its_places_lie_in_it(place: str, tmp_path: Path) -> None:
    """One tree to look at and to remove."""
    with workplace(RUNTIME, "x", directory=tmp_path, user="hdfs", start_timeout_s=5) as made:
        assert getattr(made, place).parent == tmp_path
