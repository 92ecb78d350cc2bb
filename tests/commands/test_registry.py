"""`nncache registry` on a real ZooKeeper: its output, refusals and exit codes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nncache.commands.group import nncache
from nncache.coordination.zookeeper import CreateOp
from nncache.errors import ConfigurationError, RegistryCommandError, RegistryNotReadError
from nncache.registry.access import AccessPolicy
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord
from nncache.registry.record_json import encode_record
from nncache.testbed import Cluster
from tests.coordination.simulations import connected
from tests.registry.samples import WEBHDFS, place_of_its_own

CONTAINER = "container_1408631738011_0001_01_000002"


class Command:
    """The command with a separate registry."""

    def __init__(self, zookeeper: str, root: str, directory: Path) -> None:
        self.zookeeper = zookeeper
        self.root = root
        self.place = ("--zookeeper", zookeeper, "--registry-root", root)
        self.record = directory / "record.json"
        self.record.write_bytes(encode_record(WEBHDFS))

    def run(self, *arguments: str, data: str | None = None) -> Result:
        """Run the command and return its result."""
        return CliRunner().invoke(nncache, ["registry", *arguments, *self.place], input=data)

    def must(self, *arguments: str, data: str | None = None) -> str:
        """Return the output of a command that must succeed."""
        result = self.run(*arguments, data=data)
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        return result.output

    def refused(self, *arguments: str, kind: type[Exception] = RegistryCommandError) -> str:
        """Return the one-line message of a command that must fail."""
        result = self.run(*arguments)
        assert isinstance(result.exception, kind), (arguments, result.output, result.exception)
        return str(result.exception)

    def write(self, path: str, data: bytes) -> None:
        """Write a znode of the registry, as another client does."""

        async def work() -> None:
            async with connected(self.zookeeper) as session:
                await session.commit(
                    [CreateOp(Registry(session, self.root, AccessPolicy()).znode(path), data)]
                )

        asyncio.run(work())


@pytest.fixture
def command(cluster: Cluster, tmp_path: Path) -> Iterator[Command]:
    """Yield the command with a nearly empty registry, which is removed afterwards."""
    with place_of_its_own(cluster) as place:
        made = Command(place["zookeeper"], place["registry_root"], tmp_path)
        made.must("mknode", "--parents", "/services")
        made.must("mknode", "/users")
        yield made


def test_from_a_file_to_a_name_and_back(command: Command) -> None:
    """The example of docs/registry.md works."""
    assert command.must("bind", "/services/hdfs", str(command.record)) == ""
    assert json.loads(command.must("resolve", "/services/hdfs")) == json.loads(encode_record(WEBHDFS))
    assert command.must("resolve", "--raw", "/services/hdfs").strip().encode() == encode_record(WEBHDFS)
    lines = command.must("ls", "/services").splitlines()
    assert [line.split()[0] for line in lines] == ["0"]
    assert lines[0].endswith("Z  /services/hdfs")
    assert command.must("rm", "/services/hdfs") == ""
    assert command.must("rm", "/services/hdfs") == ""
    assert command.must("ls", "/services") == ""


def test_lists_of_a_level_and_of_all(command: Command) -> None:
    """Entries are sorted by path. The JSON has the version that `bind --version` takes."""
    command.must("mknode", "-p", "/users/joe/hbase/demo1")
    command.must("bind", "/services/hdfs", str(command.record))
    assert [line.split()[-1] for line in command.must("ls").splitlines()] == ["/services", "/users"]
    everything = [status["path"] for status in json.loads(command.must("ls", "-r", "--json"))]
    assert everything == [
        "/", "/services", "/services/hdfs", "/users", "/users/joe", "/users/joe/hbase", "/users/joe/hbase/demo1",
    ]  # fmt: skip
    (status,) = json.loads(command.must("ls", "--json", "/services"))
    assert status["version"] == 0
    command.must("bind", "--version", "0", "/services/hdfs", str(command.record))
    assert "another client has written it" in command.refused(
        "bind", "--version", "0", "/services/hdfs", str(command.record)
    )


def test_what_a_list_of_all_leaves_out_is_named(command: Command) -> None:
    """Standard error has the reason."""
    command.write("/services/d\u2028", b'{"type":"JSONServiceRecord"')
    found = command.run("ls", "-r")
    assert [line.split()[-1] for line in found.stdout.splitlines()] == ["/", "/services", "/users"]
    assert found.stderr.startswith("/services/d\\u2028: the record is no JSON")
    assert found.exit_code == 0


def test_no_path_ends_a_line(command: Command) -> None:
    """Other clients choose the names. They are escaped in lines about skipped, deleted and kept entries."""
    command.write("/services/d\u2028", b'{"type":"JSONServiceRecord","x":"org.apache.hadoop.webhdfs"')
    found = command.run("find", "--endpoint-field", "api=org.apache.hadoop.*")
    assert found.stderr.startswith("/services/d\\u2028: not searched: the record is no JSON")
    record = ServiceRecord(attributes={"yarn:persistence": "container", "yarn:id": CONTAINER})
    for path in ("/services/a\u2028", "/services/b\u2028"):
        command.write(path, encode_record(record))
    command.write("/services/a\u2028/x", encode_record(WEBHDFS))
    planned = command.run("purge", "--id", CONTAINER, "--policy", "container")
    assert planned.stdout == "would delete /services/b\\u2028\n"
    assert planned.stderr.startswith("/services/a\\u2028: kept: /services/a\\u2028/x, which")


def test_a_second_bind_and_a_full_directory_are_refused(command: Command) -> None:
    """The error names the flag that allows it."""
    command.must("bind", "/services/hdfs", "-", data=command.record.read_text(encoding="utf-8"))
    assert "overwrite" in command.refused("bind", "/services/hdfs", str(command.record))
    command.must("bind", "--overwrite", "/services/hdfs", str(command.record))
    assert "recursive" in command.refused("rm", "/services")
    command.must("rm", "-r", "/services")
    assert command.refused("resolve", "/services") == "/services: there is no such entry"


@pytest.mark.parametrize(
    ("arguments", "kind", "part"),
    [
        (("bind", "/services/x", "no-such-file"), ConfigurationError, "no-such-file: No such file"),
        (("bind", "/services/X", "RECORD"), RegistryCommandError, "'X' is no label of a host name"),
        (
            ("find", "--endpoint-field", "x=y"),
            ConfigurationError,
            "--endpoint-field x=y: must be FIELD=VALUE",
        ),
        (("resolve", "/services/x"), RegistryCommandError, "/services/x: there is no such entry"),
        (("resolve", "/services"), RegistryCommandError, "/services: the entry has no data"),
        (("check", "/nowhere"), RegistryNotReadError, "/nowhere: there is no such entry"),
    ],
)
def test_a_refusal_is_one_line(
    command: Command, arguments: tuple[str, ...], kind: type[Exception], part: str
) -> None:
    """The line has the path or option, and the reason."""
    given = [str(command.record) if argument == "RECORD" else argument for argument in arguments]
    refusal = command.refused(*given, kind=kind)
    assert part in refusal
    assert "\n" not in refusal


def test_a_file_without_a_record_is_named(command: Command) -> None:
    """The error names the file, not the path in the registry."""
    command.record.write_text("{}", encoding="utf-8")
    refusal = command.refused("bind", "/services/x", str(command.record), kind=ConfigurationError)
    assert refusal.startswith(str(command.record))


def test_find_by_page(command: Command) -> None:
    """Each record has a line with its addresses. Broken records of the page are reported as not searched."""
    for name in ("a", "b", "c"):
        command.must("bind", f"/services/{name}", str(command.record))
    command.write("/services/d", b'{"type":"JSONServiceRecord","x":"org.apache.hadoop.webhdfs"')
    found = command.run("find", "--endpoint-field", "api=org.apache.hadoop.*", "--limit", "2")
    assert found.stdout.splitlines() == [
        "/services/a  http://h:1/webhdfs/v1",
        "/services/b  http://h:1/webhdfs/v1",
    ]
    assert found.stderr == ""
    rest = command.run("find", "--endpoint-field", "api=org.*", "--after", "/services/b", "--json")
    assert rest.stderr.startswith("/services/d: not searched: the record is no JSON")
    assert [each["path"] for each in json.loads(rest.stdout)] == ["/services/c"]
    assert command.run("find", "--endpoint-field", "api=none").stdout == ""


def test_check_names_what_is_wrong(command: Command) -> None:
    """The exit code is 1 with a fault and 0 without, as in diff(1)."""
    assert command.must("check") == ""
    command.write("/services/x", b'{"type":"JSONServiceRecord"')
    command.write("/services/Y", encode_record(ServiceRecord(description="x" * 2000)))
    found = command.run("check")
    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("/services/Y: description has 2000 bytes")
    assert lines[1].startswith("/services/Y: the element 'Y' is no label")
    assert lines[2].startswith("/services/x: the record is no JSON")
    assert set(json.loads(command.run("check", "--json").stdout)) == {"/services/Y", "/services/x"}


def test_purge_says_what_it_would_do_before_it_does_it(command: Command) -> None:
    """It names the entries that stay, too."""
    record = ServiceRecord(attributes={"yarn:persistence": "container", "yarn:id": CONTAINER})
    for path in ("/services/a", "/services/b"):
        command.write(path, encode_record(record))
    command.write("/services/a/x", encode_record(WEBHDFS))
    arguments = ("purge", "--id", CONTAINER, "--policy", "container")
    planned = command.run(*arguments)
    assert planned.stdout == "would delete /services/b\n"
    assert planned.stderr == "/services/a: kept: /services/a/x, which is below it, does not belong to it\n"
    assert command.run(*arguments, "--yes").stdout == "deleted /services/b\n"
    assert command.run(*arguments, "--yes").stdout == ""
    assert [line.split()[-1] for line in command.must("ls", "/services").splitlines()] == ["/services/a"]


def test_a_zookeeper_that_is_not_there_is_named() -> None:
    """The command fails after the session timeout."""
    place = ("--zookeeper", "127.0.0.1:1", "--zookeeper-session-timeout-s", "0.5")
    result = CliRunner().invoke(nncache, ["registry", "ls", *place])
    assert isinstance(result.exception, RegistryCommandError)
    assert "ZooKeeper 127.0.0.1:1 does not answer" in str(result.exception)


def test_a_secure_registry_needs_a_login() -> None:
    """Without one, no client could change the entries that it creates."""
    place = ("--zookeeper", "h:1", "--registry-secure", "--registry-realm", "EXAMPLE.COM")
    result = CliRunner().invoke(nncache, ["registry", "ls", *place])
    assert isinstance(result.exception, ConfigurationError)
    assert "registry_secure" in str(result.exception)


def test_watch_prints_lines_until_a_signal(
    command: Command, process: Callable[..., subprocess.Popen[str]]
) -> None:
    """Present entries, then Current, then each change. Ctrl-C is exit code 0."""
    command.must("bind", "/services/hdfs", str(command.record))
    watching = process("watch", "/services", *command.place)
    assert watching.stdout is not None
    assert watching.stdout.readline() == "+ /services  no record\n"
    assert watching.stdout.readline() == "+ /services/hdfs  a proxy\n"
    assert watching.stdout.readline() == "-- current\n"
    command.must("rm", "/services/hdfs")
    assert watching.stdout.readline() == "- /services/hdfs\n"
    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == 0


@pytest.fixture
def process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Yield a function that starts the command as a process. The processes are killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "nncache.commands.cli", "registry", *arguments]
        environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()
        assert each.stdout is not None
        each.stdout.close()


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls",),
        ("ls", "--recursive"),
        ("resolve", "/services/hdfs"),
        ("rm", "/services/hdfs"),
        ("find", "--endpoint-field", "api=x"),
        ("watch",),
        ("purge", "--id", "application_1_1", "--policy", "application"),
    ],
)
def test_a_root_without_a_registry_is_named(command: Command, arguments: tuple[str, ...]) -> None:
    """Each command fails, rather than print nothing or create an entry."""
    command.place = ("--zookeeper", command.zookeeper, "--registry-root", "/nope")
    assert command.refused(*arguments).startswith(
        "there is no registry at /nope in ZooKeeper: correct registry_root"
    )


def test_a_check_of_a_root_without_a_registry_fails(command: Command) -> None:
    """The registry could not be read."""
    command.place = ("--zookeeper", command.zookeeper, "--registry-root", "/nope")
    assert "no registry at /nope" in command.refused("check", kind=RegistryNotReadError)
