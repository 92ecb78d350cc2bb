"""Run the test suites of WebHDFS clients, and Hadoop's own shell, at a real NameNode and at a light cluster.

python -m tests.namenode.suites [--hadoop 3.4.1] [--only NAME] [--served]

The repositories are cloned into build/suites if they are missing, and their imports are installed next to them.
Port 50070 must be free: two suites support no other port. A test that passes at the real NameNode and not at ours
must be listed in docs/light-cluster.md, as code: its name, its class or its command.
"""

import argparse
import contextlib
import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from nncache.namenode.cluster import LightCluster
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from nncache.testbed.java import installed
from nncache.testbed.relay import Relay
from nncache.testbed.spec import Ports
from nncache.testbed.zookeepers import ZooKeeperEnsemble
from tests.namenode.asking import call
from tests.real.namespace_server import NamespaceServer

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
CHECKOUTS: Final = ROOT / "build" / "suites"
PACKAGES: Final = CHECKOUTS / "packages"
IMPORTED: Final = ("simplejson", "mock", "six", "docopt", "fastavro")
PORT: Final = 50070
WANTED: Final = 0.97
_TIMES: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d|\.Trash/\d+|\d{12,}|\(pid \d+\)")


@dataclass(frozen=True)
class Suite:
    """A pytest suite, at a commit of its repository."""

    repository: str
    commit: str
    paths: tuple[str, ...]
    tests: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


SUITES: Final = {
    "HdfsCLI": Suite(
        "mtth/hdfs", "039a7f4730653a8264c092845b5602ccb692a7ef", ("test", "hdfs"), ("test",),
        {"HDFSCLI_TEST_URL": f"http://localhost:{PORT}"},
    ),
    "pywebhdfs": Suite(
        "pywebhdfs/pywebhdfs", "45644b11a460eee237cc7ad5e200ab7fa4162e7e", ("tests", "pywebhdfs"), ("tests",)
    ),
    "PyHDFS": Suite(
        "jingw/pyhdfs", "30af3eabe6390e18e1bd1f485a69c74c4533a82d", ("test_pyhdfs.py", "pyhdfs"), ("test_pyhdfs.py",)
    ),
    "fsspec": Suite(
        "fsspec/filesystem_spec", "669de5e157cd3ce3f9bf71c7bceb7bb31c8c7a55",
        ("fsspec/implementations/tests/test_webhdfs.py",), ("fsspec/implementations/tests/test_webhdfs.py",),
    ),
}  # fmt: skip


def check_out(suite: Suite) -> Path:
    """Check the suite out; return its directory."""
    directory = CHECKOUTS / suite.repository.replace("/", "+")
    git = ("git", "-C", str(directory))
    if not directory.exists():
        url = f"https://github.com/{suite.repository}"
        subprocess.run(("git", "clone", "--no-checkout", url, str(directory)), check=True)
    subprocess.run((*git, "checkout", suite.commit, "--", *suite.paths), check=True, capture_output=True)
    return directory


def install() -> None:
    """Install the packages that the suites import."""
    if not PACKAGES.exists():
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target", str(PACKAGES))
        subprocess.run((*pip, *IMPORTED), check=True)
    program = CHECKOUTS / "bin" / "htcluster"  # fsspec's suite starts its container with this program
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)


def run_suite(suite: Suite) -> Mapping[str, object]:
    """Run a suite; return whether each test passed."""
    directory = check_out(suite)
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        environment = os.environ | suite.environment
        environment["PATH"] = f"{CHECKOUTS / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment["PYTHONPATH"] = os.pathsep.join((str(directory), str(PACKAGES)))
        options = (
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
            "--rootdir",
            str(directory),
            f"--junitxml={report}",
        )
        subprocess.run(
            (sys.executable, "-m", "pytest", *options, *suite.tests),
            cwd=directory, env=environment, check=False, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return {
            f"{case.get('classname')}::{case.get('name')}": case.find("failure") is case.find("error") is None
            for case in ET.parse(report).iter("testcase")  # noqa: S314 - pytest wrote it
            if case.find("skipped") is None
        }


def run_shell(address: str, superuser: str) -> dict[str, str]:
    """Run the commands of shell.txt in one JVM (Shell.java), over webhdfs://.

    Return each command's output with its exit code, without times and the names of this run's directories.
    """
    runtime = installed(DEFAULT_HADOOP_VERSION)
    with tempfile.TemporaryDirectory() as temporary:
        local = Path(temporary)
        (local / "hello").write_text("hello\n")
        (local / "lines").write_text("".join(f"line {number}\n" for number in range(500)))
        (local / "zipped.gz").write_bytes(gzip.compress(b"zipped\n"))
        commands = (HERE / "shell.txt").read_text().replace("root ", f"{superuser} ").splitlines()
        process = subprocess.run(
            (runtime.java, "-Xmx256m", "-cp", runtime.classpath(local), str(HERE / "Shell.java"), f"webhdfs://{address}"),
            input="".join(f"{command.replace('LOCAL', temporary)}\n" for command in commands),
            text=True, capture_output=True, check=True,
        )  # fmt: skip
        parts = re.split(r"(?m)^= (-?\d+)\n", _TIMES.sub("TIME", process.stdout.replace(temporary, "LOCAL")))
        parts[0::2] = [output.partition("| Usage: ")[0] for output in parts[0::2]]
        answers = zip(parts[0::2], parts[1::2], strict=False)
        return {
            f"{number}: {command}": f"{output}exit code {code}"
            for number, (command, (output, code)) in enumerate(zip(commands, answers, strict=True), start=1)
        }


def prepare(address: str, superuser: str) -> None:
    """Create the directories that the suites expect: homes, and a /tmp that all users may write."""
    for path, owner in (("/user/testuser", "testuser"), ("/tmp", superuser), ("/user/alice", "alice")):  # noqa: S108 - of HDFS
        call(address, "PUT", path, "MKDIRS", superuser)
        call(address, "PUT", path, "SETPERMISSION", superuser, permission="777")
        call(address, "PUT", path, "SETOWNER", superuser, owner=owner)


def run_all(address: str, superuser: str, only: str) -> dict[str, Mapping[str, object]]:
    """Run the suites at one side. A test has passed if its value is not False and equals the real side's value."""
    prepare(address, superuser)
    found = {name: run_suite(suite) for name, suite in SUITES.items() if only in ("", name)}
    if only in ("", "shell"):
        found["shell"] = run_shell(address, superuser)
    return found


@contextlib.contextmanager
def real(hadoop: str) -> Iterator[tuple[str, str]]:
    """Yield the address and superuser of a real NameNode."""
    with Cluster.start(ClusterSpec(hadoop_version=hadoop, ports=Ports(namenode_http=PORT))) as cluster:
        yield cluster.namenodes[0].http, cluster.superuser


@contextlib.contextmanager
def light() -> Iterator[tuple[str, str]]:
    """Yield the address and superuser of a light cluster."""
    with LightCluster(port=PORT) as cluster:
        yield cluster.namenode_http, cluster.superuser


@contextlib.contextmanager
def served() -> Iterator[tuple[str, str]]:
    """Yield a relay to three NameNodes on three ZooKeeper servers, with three DataNodes; it takes them in turn."""
    with (
        ZooKeeperEnsemble() as ensemble,
        NamespaceServer(ensemble.address, namenodes=3, datanodes=3) as namespace,
        Relay(",".join(each.http for each in namespace.namenodes), port=PORT) as relay,
    ):
        yield relay.address, namespace.superuser


def main(arguments: list[str]) -> int:
    """Run the suites at both, and compare the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hadoop", default=DEFAULT_HADOOP_VERSION)
    parser.add_argument("--only", default="", choices=("", *SUITES, "shell"))
    parser.add_argument("--served", action="store_true", help="not at a light cluster, but in ZooKeeper")
    chosen = parser.parse_args(arguments)
    install()
    results: list[dict[str, Mapping[str, object]]] = []
    starts: tuple[Callable[[], contextlib.AbstractContextManager[tuple[str, str]]], ...]
    starts = (lambda: real(chosen.hadoop), served if chosen.served else light)
    for start in starts:
        with start() as (address, superuser):
            results.append(run_all(address, superuser, chosen.only))
    known = (ROOT / "docs" / "light-cluster.md").read_text()
    there = here = unexplained = 0
    for name, passed in results[0].items():
        good = {test: value for test, value in passed.items() if value is not False}
        failing = sorted(test for test, value in good.items() if results[1][name].get(test) != value)
        there, here = there + len(good), here + len(good) - len(failing)
        sys.stdout.write(
            f"{name}: {len(good)} of {len(passed)} pass at {chosen.hadoop}, {len(failing)} of those not here\n"
        )
        for test in failing:
            is_named = any(f"`{word}`" in known for word in re.split(r"[\s.:]+", test))
            unexplained += not is_named
            sys.stdout.write(f"  {test}{'' if is_named else ': not in docs/light-cluster.md'}\n")
            if isinstance(good[test], str):
                sys.stdout.write(f"    real:  {good[test]!r}\n    light: {results[1][name].get(test)!r}\n")
    sys.stdout.write(f"{here} of {there}: {here / there:.1%}\n")
    return 1 if unexplained or here < WANTED * there else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
