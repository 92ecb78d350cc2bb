"""See that the own test file of each deciding module covers every branch of it: `pytest -p tests.house.core_coverage`.

A decider is pure, so nothing but a missing case keeps its tests from reaching a branch. What another module's test
happens to reach does not count: it would go with that test. Nor does what a property test reaches: measuring makes it
several times slower, and a branch that is reached by chance alone is missed one day.

A plugin that is loaded before any conftest, so that it sees the modules' definitions. It measures only while the own
test file of a decider runs, and judges the modules whose own test file was run. Each worker of pytest-xdist judges its
own share, since a file is not divided among workers.
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
"""The contract of import-linter that lists them: modules without a socket, a task or a clock."""

SHOWN = 12
"""Missing lines named per module."""


@cache
def core() -> tuple[Path, ...]:
    """Return the modules that must be covered."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (listed,) = (each["source_modules"] for each in contracts if each.get("id") == CONTRACT)
    return tuple(path for name in listed for path in _files(name))


def _files(name: str) -> tuple[Path, ...]:
    """Return the files of a module, or those of a package that do anything."""
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
        self._measure(on=True)  # what is imported now is defined now
        self.left_out: dict[str, str] = {}

    def _measure(self, *, on: bool) -> None:
        if on != self._is_measuring:
            self._is_measuring = on
            (self._tracer.start if on else self._tracer.stop)()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """All modules are imported."""
        self._measure(on=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Measure the own test of a decider, but no property test: a branch reached by chance is missed one day."""
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
        """Judge the modules whose own tests were run here; a worker sends its verdict to the controller."""
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
        """Return what the module's own tests leave out, as text; empty if nothing."""
        # The empty context is the import of the module: its definitions.
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
    """Gathers what was judged in all processes, and fails the session if a branch is left out."""

    KEY = pytest.StashKey["Verdict"]()

    def __init__(self) -> None:
        self._judged: set[str] = set()
        self._left_out: dict[str, str] = {}

    @classmethod
    def of(cls, config: pytest.Config) -> "Verdict":
        """Return the one of this session."""
        return config.stash.setdefault(cls.KEY, cls())

    def take(self, judged: list[str], left_out: dict[str, str]) -> None:
        """Add the verdict of one process."""
        self._judged.update(judged)
        self._left_out.update(left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take what a worker has judged; one that died has judged nothing, and its tests have failed."""
        found = getattr(node, "workeroutput", {}).get("deciders", {})
        self.take(found.get("judged", []), found.get("left_out", {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session if anything is left out."""
        if self._left_out and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what is left out."""
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
    """Begin before plugins and conftests import what is to be measured: the first hook of a plugin named by `-p`."""
    _started.append(Measuring())


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Measure where tests run; the controller of workers runs none, and prints the verdict."""
    if config.getoption("numprocesses", None):
        _started[-1].pytest_collection_finish()
    else:
        config.pluginmanager.register(_started[-1], "deciders-measuring")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Verdict.of(config), "deciders-verdict")
