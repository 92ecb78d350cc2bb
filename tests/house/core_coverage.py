"""Check that each deciding module's own test file covers all its branches: `pytest -p tests.house.core_coverage`.

A decider is pure, so its tests can reach every branch. Coverage by another module's tests does not count, since it
would disappear with those tests. Property tests do not count either: measuring slows them down several times, and a
branch reached by chance is missed one day.

The plugin must load before any conftest, so that it measures the modules' definitions. It measures only while a
decider's own test file runs, and judges only modules whose test file ran. Each worker of pytest-xdist judges its own
share, since a file is never divided among workers.
"""

import json
import tempfile
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import coverage
import pytest

from tests.house.tree import PACKAGE, ROOT, acts, shown, sources

CONTRACT = "deciders"
"""The id of the import-linter contract that lists the deciders: modules without a socket, a task or a clock."""

SHOWN = 12
"""Maximum number of missing lines named per module."""


@cache
def core() -> tuple[Path, ...]:
    """Return the files of the modules that must be covered."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (listed,) = (each["source_modules"] for each in contracts if each.get("id") == CONTRACT)
    return tuple(path for name in listed for path in _files(name))


def _files(name: str) -> tuple[Path, ...]:
    """Return the file of a module, or the files with functions of a package."""
    place = name.replace(".", "/")
    if (ROOT / place).is_dir():
        return tuple(path for path in sources(place) if path.name != "__init__.py" and acts(path))
    return (ROOT / f"{place}.py",)


def own_test(module: Path) -> Path:
    """Return the test file that mirrors the module."""
    return ROOT / "tests" / module.relative_to(PACKAGE).with_name(f"test_{module.name}")


class Measuring:
    """Measures the deciders while their own tests run, and judges them at the end of the session."""

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory()
        self._module_of = {own_test(module): module for module in core()}
        self._run: set[Path] = set()
        self._file: Path | None = None
        self._is_measuring = False
        self._tracer = coverage.Coverage(
            data_file=f"{self._scratch.name}/data",
            include=[str(module) for module in core()],
            config_file=str(ROOT / "pyproject.toml"),
        )
        self._measure(on=True)  # imports from here on define the deciders
        self.left_out: dict[str, str] = {}

    def _measure(self, *, on: bool) -> None:
        if on != self._is_measuring:
            self._is_measuring = on
            (self._tracer.start if on else self._tracer.stop)()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Stop measuring: all modules are imported."""
        self._measure(on=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Measure a decider's own test, unless it is a property test, which reaches branches by chance."""
        is_property = item.get_closest_marker("hypothesis") is not None
        if is_property or item.path not in self._module_of:
            return (yield)
        self._run.add(item.path)
        self._measure(on=True)
        if item.path != self._file:
            self._file = item.path
            self._tracer.switch_context(shown(item.path))
        try:
            return (yield)
        finally:
            self._measure(on=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge the modules whose own tests ran here. A worker sends its verdict to the controller."""
        self._measure(on=False)
        for test in sorted(self._run):
            if text := self._uncovered(self._module_of[test]):
                self.left_out[shown(self._module_of[test])] = text
        self._scratch.cleanup()
        judged = [shown(self._module_of[test]) for test in self._run]
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["deciders"] = {"judged": judged, "left_out": self.left_out}
        else:
            Verdict.of(session.config).take(judged, self.left_out)

    def _uncovered(self, module: Path) -> str:
        """Return the lines and branches that the module's own tests miss, as text; empty without any."""
        # The empty context is the import of the module, which runs its definitions.
        own = [f"^{shown(own_test(module))}$".replace(".", r"\."), "^$"]
        report = Path(self._scratch.name) / "report.json"
        self._tracer.json_report(morfs=[str(module)], outfile=str(report), contexts=own)
        found = json.loads(report.read_text(encoding="utf-8"))["files"][shown(module)]
        missing = set(found["missing_lines"])
        branches = [
            f"{a}->{b if b > 0 else 'exit'}" for a, b in found["missing_branches"] if a not in missing
        ]
        left_out = [*map(str, found["missing_lines"]), *branches]
        more = [] if len(left_out) <= SHOWN else [f"and {len(left_out) - SHOWN} more"]
        return ", ".join(left_out[:SHOWN] + more)


class Verdict:
    """Collects the verdicts of all processes, and fails the session if a branch is missed."""

    KEY = pytest.StashKey["Verdict"]()

    def __init__(self) -> None:
        self._judged: set[str] = set()
        self._left_out: dict[str, str] = {}

    @classmethod
    def of(cls, config: pytest.Config) -> "Verdict":
        """Return the verdict of this session."""
        return config.stash.setdefault(cls.KEY, cls())

    def take(self, judged: list[str], left_out: dict[str, str]) -> None:
        """Add the verdict of one process."""
        self._judged.update(judged)
        self._left_out.update(left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Add a worker's verdict; a crashed worker has none, and its tests have failed."""
        found = getattr(node, "workeroutput", {}).get("deciders", {})
        self.take(found.get("judged", []), found.get("left_out", {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session if any branch is missed."""
        if self._left_out and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the missed lines and branches."""
        for name, text in sorted(self._left_out.items()):
            terminalreporter.write_line(
                f"not covered by its own tests, property tests aside: {name}: {text}", red=True
            )
        covered = len(self._judged - self._left_out.keys())
        terminalreporter.write_line(
            f"{covered} of {len(core())} deciding modules: every branch is covered by their own tests"
        )


_started: list[Measuring] = []


def pytest_addoption() -> None:
    """Start before plugins and conftests import the deciders: this is the first hook of a plugin given by `-p`."""
    _started.append(Measuring())


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Measure in the processes that run tests. With workers, the controller only prints the verdict."""
    if config.getoption("numprocesses", None):
        _started[-1].pytest_collection_finish()
    else:
        config.pluginmanager.register(_started[-1], "deciders-measuring")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Verdict.of(config), "deciders-verdict")
