"""The installed package: one import name, only the runtime, and everything that it needs."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE, ROOT

TOOLS = ("bench", "demo", "testbed")
"""Rooms that are only in a checkout, since they start clusters and load."""

BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "nncache")


def test_type_checkers_read_its_annotations() -> None:
    """PEP 561: without py.typed, an installed package counts as untyped."""
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize("room", ["bench", "cache", "invalidation", "proxy"])
def test_the_link_at_the_top_leads_to_the_room(room: str) -> None:
    """docs/decisions/0001: the link is relative, so that the checkout may be moved."""
    assert (ROOT / room).readlink() == Path("nncache") / room


def test_the_package_holds_no_link() -> None:
    """docs/decisions/0001: Git history, archives and Windows need plain files."""
    assert [path for path in PACKAGE.rglob("*") if path.is_symlink()] == []


def test_the_wheel_holds_the_runtime_under_one_name(tmp_path: Path) -> None:
    """From the wheel, `nncache proxy` works, `import cache` fails, and `nncache cluster` names its requirement."""
    source = tmp_path / "source"
    source.mkdir()
    for name in BUILT_FROM:
        path = ROOT / name
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "results")
            shutil.copytree(path, source / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(path, source)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    build = ("wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", tmp_path, source)
    subprocess.run((*pip, *build), check=True, timeout=100)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"nncache"}
    rooms = {name.split("/")[1] for name in names}
    assert rooms >= {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()} - {*TOOLS}
    assert not rooms & {*TOOLS}
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)

    def run(code: str) -> subprocess.CompletedProcess[str]:
        # Isolated: with the dependencies, but without this environment's editable nncache.
        start = (
            "import sys; sys.meta_path[:] = [m for m in sys.meta_path if 'editable' not in repr(m).lower()]; "
            f"sys.path[:] = [{str(installed)!r}] + [p for p in sys.path if p != {str(ROOT)!r}]; "
        )
        command = (sys.executable, "-I", "-c", start + code)
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)

    shown = run("sys.argv = ['nncache', 'proxy', '--help']; from nncache.commands.cli import main; main()")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "--namenode" in shown.stdout
    assert "No module named 'cache'" in run("import cache").stderr
    assert "\n  cluster" in run("from nncache.commands.group import nncache; nncache(['--help'])").stdout
    light = run(
        "sys.argv = ['nncache', 'cluster', '--light', '--help']; from nncache.commands.cli import main; main()"
    )
    assert (light.returncode, light.stderr) == (0, "")
    assert "--directory" in light.stdout
    refused = run("sys.argv = ['nncache', 'cluster']; from nncache.commands.cli import main; main()")
    assert refused.returncode == 1
    assert "clone the repository" in refused.stderr
