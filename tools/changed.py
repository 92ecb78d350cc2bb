"""Run the tests nearest to the changes since main: `make test-changed`.

A test file is near if it imports a changed module through at most `DISTANCE` imports. `make test` also runs the tests
further away, and those that start processes.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import grimp

from tests.layers import ON_THE_CLUSTER, Layer, layer_of

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("nncache", "tools", "tests")
DISTANCE: Final = 3
"""Imports between a changed module and a test of it. A module's own test is at 1, or at 2 through a fixture."""


def changed_modules(base: str) -> set[str]:
    """Return the modules whose files differ from a commit, including uncommitted and new files."""
    differing = _git("diff", "--name-only", base, "--", "*.py")
    new = _git("ls-files", "--others", "--exclude-standard", "--", "*.py")
    files = (Path(name).with_suffix("") for name in (*differing, *new))
    return {".".join(path.parts).removesuffix(".__init__") for path in files if path.parts[0] in PACKAGES}


def _git(*words: str) -> list[str]:
    done = subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def near(changed: set[str], distance: int) -> tuple[list[Path], int]:
    """Return the process-free test files near these modules, nearest first, and the number of those further away."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=str(ROOT / ".import_linter_cache"))
    front = {module for module in changed if module in graph.modules}
    seen, found, further = set(front), list[Path](), 0
    steps = 0
    while front:
        files = sorted(path for module in front if (path := _test_file(module)) is not None)
        if steps <= distance:
            found += files
        else:
            further += len(files)
        front = {
            importer for module in front for importer in graph.find_modules_that_directly_import(module)
        } - seen
        seen |= front
        steps += 1
    return found, further


def _test_file(module: str) -> Path | None:
    """Return the module's file if it holds tests without processes, else None."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    name = path.relative_to(ROOT).as_posix()
    if not path.name.startswith("test_") or name.startswith(ON_THE_CLUSTER) or layer_of(path) != Layer.TEST:
        return None
    return path


def main() -> int:
    """Run the tests and return the exit status of pytest; 0 if there are no tests to run."""
    changed = changed_modules(sys.argv[1] if len(sys.argv) > 1 else "main")
    files, further = near(changed, DISTANCE)
    print(f"{len(changed)} changed modules, {len(files)} test files near them; {further} further away")
    if not files:
        return 0
    # In a separate process: pytest must be imported before any test module.
    words = (sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "tests.house.core_coverage")
    return subprocess.call((*words, *map(str, files)), cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
