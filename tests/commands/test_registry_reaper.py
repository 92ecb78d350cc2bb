"""`nncache registry reaper` on a real ZooKeeper, with a fake ResourceManager."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import nncache
from nncache.commands.group import nncache as command
from nncache.errors import ConfigurationError, RegistryCommandError
from nncache.registry.record import ServiceRecord
from nncache.testbed import Cluster
from tests.patience import HANG_S
from tests.processes import NNCACHE, free_address
from tests.registry.fake_resource_manager import FakeResourceManager, served
from tests.registry.samples import place_of_its_own

ENDED = "application_1408631738011_0001"
RUNS = "application_1408631738011_0002"


class Simulation:
    """A separate registry with records of two applications, and the ResourceManager that knows them."""

    def __init__(self, place: dict[str, str], manager: FakeResourceManager) -> None:
        self.manager = manager
        self.place = place

    def flags(self, url: str = "") -> list[str]:
        """Return the settings as flags."""
        place = ["--zookeeper", self.place["zookeeper"], "--registry-root", self.place["registry_root"]]
        return [*place, "--yarn-rm", url or self.manager.url]

    def bind(self, path: str, application: str) -> None:
        """Bind a record that belongs to an application."""
        attributes = {"yarn:persistence": "application", "yarn:id": application}
        with nncache.open_registry(**self.place) as registry:
            registry.mknode(path.rpartition("/")[0], create_parents=True)
            registry.bind(path, ServiceRecord(attributes=attributes))

    def paths(self) -> set[str]:
        """Return the names of the services."""
        with nncache.open_registry(**self.place) as registry:
            return set(registry.list("/users/joe/web"))

    def run(self, *arguments: str, url: str = "") -> Result:
        """Run the command and return its result."""
        return CliRunner().invoke(command, ["registry", "reaper", *arguments, *self.flags(url)])


@pytest.fixture
def simulation(cluster: Cluster) -> Iterator[Simulation]:
    """Yield a simulation; its registry is removed afterwards."""
    manager = FakeResourceManager(applications={ENDED: "FINISHED", RUNS: "RUNNING"})
    with place_of_its_own(cluster) as place, served(manager) as asked:
        made = Simulation(place, asked)
        made.bind("/users/joe/web/a", ENDED)
        made.bind("/users/joe/web/b", RUNS)
        yield made


def test_it_says_what_it_would_do_before_it_does_it(simulation: Simulation) -> None:
    """The dry run lists the entries to delete and those that stay, each with its reason."""
    kept = f"/users/joe/web/b: kept: {RUNS} is RUNNING\n"
    planned = simulation.run()
    assert (planned.exit_code, planned.stderr) == (0, kept), planned.exception
    assert planned.stdout == f"would delete /users/joe/web/a: {ENDED} is FINISHED\n"
    assert json.loads(simulation.run("--json").stdout) == {
        "dryRun": True,
        "gone": [{"path": "/users/joe/web/a", "why": f"{ENDED} is FINISHED"}],
        "kept": [{"path": "/users/joe/web/b", "why": f"{RUNS} is RUNNING", "runs": True}],
    }
    assert simulation.paths() == {"a", "b"}
    assert simulation.run("--yes", "/users/ann").exit_code != 0
    assert simulation.paths() == {"a", "b"}
    done = simulation.run("--yes", "/users/joe")
    assert (done.stdout, done.stderr) == (f"deleted /users/joe/web/a: {ENDED} is FINISHED\n", kept)
    assert simulation.run("--yes").stdout == ""
    assert simulation.paths() == {"b"}


def test_forgotten_applications_stay_unless_allowed(simulation: Simulation) -> None:
    """The cluster timestamp of the application id must be allowed; the reason names it."""
    del simulation.manager.applications[ENDED]
    assert "add 1408631738011 to yarn_forgotten" in simulation.run("--yes").stderr
    assert (
        "only"
        in simulation.run("--yes", "--yarn-forgotten", "1408631738011", "--yarn-settle-s", "1e9").stderr
    )
    assert simulation.paths() == {"a", "b"}
    assert simulation.run("--yes", "--yarn-forgotten", "1408631738011").stdout.startswith(
        "deleted /users/joe/web/a"
    )
    assert simulation.paths() == {"b"}


def test_without_a_resource_manager_it_fails_and_deletes_nothing(simulation: Simulation) -> None:
    """The error is one line that names the URL."""
    nobody = f"http://{free_address()}"
    result = simulation.run("--yes", url=nobody)
    assert isinstance(result.exception, RegistryCommandError)
    assert str(result.exception).startswith(f"{nobody} ({nobody} does not answer")
    assert simulation.paths() == {"a", "b"}


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (["--yarn-rm", "rm1:8088"], "must be a URL without a path"),
        ([], "must name the ResourceManagers"),
        (
            ["--yarn-rm", "http://rm1:8088", "--yarn-ca", "no-such-file"],
            "yarn_ca: no-such-file: cannot be read",
        ),
    ],
)
def test_a_wrong_setting_is_named(flags: list[str], part: str) -> None:
    """The error comes before any server is contacted."""
    result = CliRunner().invoke(command, ["registry", "reaper", "--zookeeper", "h:1", *flags])
    assert isinstance(result.exception, ConfigurationError)
    assert part in str(result.exception)


def test_a_loop_without_yes_is_refused() -> None:
    """It would print the same plan in each round."""
    arguments = ["registry", "reaper", "--every", "1", "--zookeeper", "h:1", "--yarn-rm", "http://h:1"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert "--every needs --yes" in result.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_loop_goes_on_until_a_signal(
    simulation: Simulation, number: signal.Signals, tmp_path: Path
) -> None:
    """It survives an outage of the ResourceManager. An entry that stays is printed once."""
    log = tmp_path / "stderr"
    arguments = [*NNCACHE, "registry", "reaper", "--yes", "--every", "0.05", *simulation.flags()]
    with (
        log.open("w") as complaints,
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=complaints, text=True) as loop,
    ):
        try:
            assert loop.stdout is not None
            assert loop.stdout.readline() == f"deleted /users/joe/web/a: {ENDED} is FINISHED\n"
            simulation.manager.ha_state = "STANDBY"
            asked = threading.Semaphore(0)
            simulation.manager.before = lambda _: asked.release()
            for _ in range(4):  # two requests per round
                assert asked.acquire(timeout=HANG_S)
            loop.send_signal(signal.SIGHUP)  # ends no daemon
            simulation.manager.ha_state = "ACTIVE"
            simulation.bind("/users/joe/web/c", ENDED)
            assert loop.stdout.readline() == f"deleted /users/joe/web/c: {ENDED} is FINISHED\n"
            loop.send_signal(number)
            assert loop.wait(HANG_S) == 0
        finally:
            loop.kill()
    logged = log.read_text().splitlines()
    assert logged.count(f"/users/joe/web/b: kept: {RUNS} is RUNNING") == 1
    outages = [line for line in logged if line.startswith("nothing more is deleted this time: ")]
    assert outages
    assert len(outages) == len(logged) - 1


def test_a_loop_that_cannot_begin_fails() -> None:
    """ZooKeeper does not answer, so the exit code is 1."""
    place = ["--zookeeper", free_address(), "--zookeeper-session-timeout-s", "0.5", "--yarn-rm", "http://h:1"]
    arguments = [*NNCACHE, "registry", "reaper", "--yes", "--every", "1", *place]
    ended = subprocess.run(arguments, capture_output=True, check=False, timeout=HANG_S, text=True)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert "does not answer" in line
