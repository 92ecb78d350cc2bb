"""The service, and the demo as `make demo` installs it, run without the extras."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest

from tests.house.tree import ROOT

STARTS = (
    "nncache.commands.cli",
    "nncache.demo.__main__",
    "nncache.daemons.proxy_wiring",
    "nncache.daemons.publisher_wiring",
    "nncache.commands.filters",
    "nncache.commands.watch",
    "nncache.testbed.command",
)
"""The modules that the demo's processes import."""


def without_extras() -> set[str]:
    """Return the distributions that pyproject.toml requires without extras, and their requirements."""
    wanted = list(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    found = set[str]()
    while wanted:
        requirement = wanted.pop()
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")
        if "extra ==" not in requirement and name not in found:
            found.add(name)
            try:
                wanted += metadata.requires(name) or ()
            except metadata.PackageNotFoundError:
                continue  # for another Python version or operating system
    return found


def test_the_demo_starts_without_any_extra() -> None:
    """All other installed libraries are hidden."""
    kept = without_extras()
    hidden = [
        module
        for module, owners in metadata.packages_distributions().items()
        if not kept & {owner.lower().replace("_", "-") for owner in owners} and module != "nncache"
    ]
    assert {"pyspark", "trustme", "pytest"} <= {*hidden}
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); import {', '.join(STARTS)}"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("is_on", [False, True])
def test_opentelemetry_is_loaded_only_for_spans(*, is_on: bool) -> None:
    """A proxy without spans must not pay for its memory and start time."""
    flags = {"namenode_http": ("127.0.0.1:1",), "namenode_rpc": ("127.0.0.1:2",), "tracing": is_on}
    code = f"""
import asyncio, json, sys
from nncache.clock import boottime
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.settings.commands import PROXY, load_settings
from nncache.settings.federation import Federation

async def build():
    ProxySystem(Federation.of_one(load_settings(PROXY, None, {flags!r})), boottime)

asyncio.run(build())
print(json.dumps("opentelemetry" in sys.modules))
"""
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) is is_on
