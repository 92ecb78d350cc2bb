"""Run the tests of the deciding modules and see that each one's own test file covers all its branches: `make core`.

A decider is pure, so nothing but a missing case keeps its tests from reaching a branch. What another module's test
happens to reach does not count: it would go with that test.

With no argument it starts itself once for each share of the modules, all at the same time; `0/2` is the first of two.
"""

import json
import os
import subprocess
import sys
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

SHARES = 2
"""How many processes work."""

BY_PROPERTIES = frozenset(
    {
        "cache/set_aside.py",
        "cache/subtrees.py",
        "hadoop/globs.py",
        "hadoop/paths.py",
    }
)
"""Modules with branches that property tests alone reach: such a test of theirs is measured, all others are not.

Measuring makes them several times slower (with none of them measured it is 110 s of CPU instead of 148), and a branch
that is reached by chance alone is missed one day. So rather write a case for it than add a module here.
"""

HANG_S = 600
"""Seconds after which a test hangs: measuring coverage makes a property test several times slower."""


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


@cache
def own_tests() -> frozenset[Path]:
    """Return the test files that run here."""
    return frozenset(map(own_test, core()))


class ByFile:
    """Tells coverage which test file runs."""

    def __init__(self, tracer: coverage.Coverage) -> None:
        self._tracer = tracer
        self._file: Path | None = None
        self._by_properties = {own_test(PACKAGE / name) for name in BY_PROPERTIES}

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Name the context after the file; a switch stores what was seen, so not at every test."""
        if item.path != self._file:
            self._file = item.path
            self._tracer.switch_context(shown(item.path))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Measure no property test, unless its file needs it."""
        if item.get_closest_marker("hypothesis") is None or item.path in self._by_properties:
            return (yield)
        self._tracer.stop()
        try:
            return (yield)
        finally:
            self._tracer.start()


def uncovered(tracer: coverage.Coverage, module: Path) -> str:
    """Return what the module's own tests leave out, as text; empty if nothing."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        # The empty context is the import of the module: its definitions.
        own = [f"^{shown(own_test(module))}$".replace(".", r"\."), "^$"]
        try:
            tracer.json_report(morfs=[str(module)], outfile=report.name, contexts=own)
        except coverage.exceptions.NoDataError:
            return "all of it"
        found = json.loads(Path(report.name).read_text(encoding="utf-8"))["files"][shown(module)]
    missing = set(found["missing_lines"])
    branches = [f"{a}->{b if b > 0 else 'exit'}" for a, b in found["missing_branches"] if a not in missing]
    left_out = [*map(str, found["missing_lines"]), *branches]
    more = [] if len(left_out) <= SHOWN else [f"and {len(left_out) - SHOWN} more"]
    return ", ".join(left_out[:SHOWN] + more)


def examine(modules: tuple[Path, ...]) -> int:
    """Run the tests of these modules and say what they leave out; returns 0 if it is nothing."""
    absent = [shown(own_test(module)) for module in modules if not own_test(module).exists()]
    tests = [str(own_test(module)) for module in modules if own_test(module).exists()]
    with tempfile.TemporaryDirectory() as scratch:
        tracer = coverage.Coverage(
            data_file=f"{scratch}/data",
            include=[str(module) for module in modules],
            config_file="pyproject.toml",
        )
        tracer.start()
        failed = pytest.main(
            ["-q", "--no-header", "-p", "no:cacheprovider", f"--timeout={HANG_S}", *tests],
            plugins=[ByFile(tracer)],
        )
        tracer.stop()
        left_out = {
            shown(module): uncovered(tracer, module) for module in modules if own_test(module).exists()
        }
    for name in absent:
        print(f"missing: {name}")  # noqa: T201 - this is a program
    for name, text in left_out.items():
        if text:
            print(f"not covered by its own tests, properties aside (BY_PROPERTIES): {name}: {text}")  # noqa: T201 - this is a program
    return 1 if failed or absent or any(left_out.values()) else 0


def main(arguments: list[str]) -> int:
    """Return the exit status: 0 if every decider is covered."""
    os.chdir(ROOT)
    os.environ.pop("PYTEST_ADDOPTS", None)  # meant for the run of all tests
    modules = core()
    if arguments:
        number, _, shares = arguments[0].partition("/")
        return examine(modules[int(number) :: int(shares)])
    command = (sys.executable, "-m", "tests.house.core_coverage")
    running = [
        subprocess.Popen(
            (*command, f"{number}/{SHARES}"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for number in range(SHARES)
    ]
    for share in running:
        print(share.communicate()[0], end="")  # noqa: T201 - as above
    if any(share.returncode for share in running):
        return 1
    print(f"{len(modules)} deciding modules: every branch is covered by their own tests")  # noqa: T201 - as above
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
