"""`nncache filters apply`, `diff` and `export` against a real NameNode."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nncache.commands.filters_files import read_file
from nncache.commands.group import nncache
from nncache.errors import ConfigurationError, FiltersError, NotComparedError
from nncache.testbed import Cluster
from tests.cluster import make_directory

FILE = """
[[filter]]
name = "joe"
glob = "/user/joe/*/_SUCCESS"
owner = "joe"
subscribers = ["alice"]

[[filter]]
name = "ann"
glob = "/user/ann/*"
"""


class Command:
    """The commands, with a directory of filters that is this test's alone."""

    def __init__(self, cluster: Cluster, path: str, scratch: Path) -> None:
        self.cluster = cluster
        self.path = path
        self.file = scratch / "filters.toml"

    def run(self, *arguments: str, text: str | None = None, user: str | None = None) -> Result:
        """Run it with the file, or with a text at its standard input."""
        place = ("--filters-path", self.path, "--namenode-http", self.cluster.namenodes[0].http)
        who = ("--user", user or self.cluster.superuser)
        return CliRunner().invoke(nncache, ["filters", *arguments, *place, *who], input=text)

    def must(self, *arguments: str, text: str | None = None) -> Result:
        """Run it; it must succeed."""
        result = self.run(*arguments, text=text)
        assert result.exit_code == 0, (result.output, result.exception)
        return result


@pytest.fixture
def command(cluster: Cluster, administrators_directory: str, tmp_path: Path) -> Command:
    """With a file, and no filters yet."""
    made = Command(cluster, f"{administrators_directory}/filters", tmp_path)
    made.file.write_text(FILE)
    return made


def test_a_file_is_applied_once_and_comes_back(command: Command) -> None:
    """What apply will do is said by diff; afterwards there is nothing to do, and export writes the same for git."""
    file = str(command.file)
    user = command.cluster.superuser
    differing = command.run("diff", file)
    assert differing.exit_code == 1
    assert differing.stdout.splitlines() == [
        f"+ ann  /user/ann/*  owner {user}  subscribers -",
        "+ joe  /user/joe/*/_SUCCESS  owner joe  subscribers alice",
    ]
    assert command.must("apply", file, "--dry-run").stdout == differing.stdout
    assert command.run("diff", file).exit_code == 1, "a dry run does nothing"
    assert command.must("apply", file).stdout == "filters: 2 added, 0 changed, 0 removed, 0 unchanged\n"
    assert command.must("apply", file).stdout == "filters: 0 added, 0 changed, 0 removed, 2 unchanged\n"
    assert command.must("diff", file).stdout == ""
    exported = command.must("export").stdout
    assert command.must("diff", "-", text=exported).stdout == ""
    target = command.file.with_name("out.toml")
    command.must("export", str(target))
    assert target.read_text() == exported


def test_a_glob_of_a_file_that_matches_less_than_it_seems_to_is_told(command: Command) -> None:
    """It is refused, with the whole file, unless that is meant; then it is told once."""
    command.file.write_text(FILE.replace("/user/ann/*", "/user/**"))
    file, trouble = str(command.file), "/user/**: ** stays within one level"
    assert command.run("diff", file).stderr.startswith(trouble)
    refused = command.run("apply", file)
    assert isinstance(refused.exception, ConfigurationError)
    assert str(refused.exception).startswith("nothing was changed: --yes")
    assert refused.stderr.startswith(trouble)
    applied = command.must("apply", file, "--yes")
    assert applied.stdout == "filters: 2 added, 0 changed, 0 removed, 0 unchanged\n"
    assert applied.stderr.startswith(trouble)
    assert command.must("apply", file).stderr == ""


def test_a_file_changes_what_it_names_and_prunes_when_asked(command: Command) -> None:
    """What it leaves out stays; the JSON says the plan and what was done."""
    command.must("apply", str(command.file))
    file = '[[filter]]\nname = "joe"\nglob = "/user/joe/b*"\nsubscribers = ["bob"]\n'
    kept = command.must("apply", "-", text=file)
    assert kept.stdout == "filters: 0 added, 1 changed, 0 removed, 0 unchanged\n"
    assert kept.stderr == "not in the file, and kept (--prune removes what is not): ann\n"
    shown = json.loads(command.must("show", "joe", "--json").stdout)
    assert shown == {
        "name": "joe",
        "pathGlob": "/user/joe/b*",
        "owner": "joe",
        "allowedSubscribers": ["bob"],
    }
    pruned = json.loads(command.must("apply", "-", "--prune", "--json", text=file).stdout)
    assert (pruned["removed"], pruned["done"]) == (["ann"], {"added": 0, "changed": 0, "removed": 1})
    assert json.loads(command.must("diff", "-", "--json", text=file).stdout)["unchanged"] == 1


def test_a_bad_file_changes_nothing_and_all_its_errors_are_told(command: Command) -> None:
    """The good entries, too, are not applied: exit code 2."""
    command.file.write_text(FILE + '[[filter]]\nname = "a/b"\nglob = "x"\n')
    for verb in ("apply", "diff"):
        result = command.run(verb, str(command.file))
        assert isinstance(result.exception, ConfigurationError)
        assert str(result.exception) == f"{command.file}: 2 errors: nothing was changed"
        name, glob = result.stderr.splitlines()
        assert name.startswith(f"{command.file}:12: filter 'a/b': name: 'a/b': must be letters")
        assert glob == f"{command.file}:13: filter 'a/b': glob: x: at position 0: a glob begins with a /"
    assert json.loads(command.must("list", "--json").stdout)["filters"] == []


def test_only_administrators_apply(command: Command) -> None:
    """HDFS says so; the line says what was done and that it may be repeated."""
    command.must("add", "--name", "first", "--glob", "/first")
    result = command.run("apply", str(command.file), user="joe")
    assert isinstance(result.exception, FiltersError)
    assert str(result.exception).startswith("only an administrator (a superuser of HDFS) may add and remove")
    assert str(result.exception).endswith("what was done stays: apply the file again to go on")
    assert result.stdout == "filters: 0 added, 0 changed, 0 removed, 0 unchanged\n"


def test_the_owner_denies_whom_the_file_has_allowed(command: Command) -> None:
    """And allows others, with the commands or with HDFS's own: the list is the owner's however it was made."""
    command.file.write_text(FILE.replace('["alice"]', '["alice", "bob"]'))
    command.must("apply", str(command.file))
    assert command.run("deny", "joe", "alice", user="joe").exit_code == 0
    assert command.run("allow", "joe", "carol", user="joe").exit_code == 0
    place = f"{command.path}/joe/subscribers/bob"
    shell = command.cluster.fs_shell("-rm", "-r", "-skipTrash", place, user="joe")
    assert shell.exit_code == 0, shell.stderr
    assert json.loads(command.must("show", "joe", "--json").stdout)["allowedSubscribers"] == ["carol"]


def test_broken_filters_are_left_alone_and_told(command: Command) -> None:
    """Exit code 1: HDFS has not what the file says, the file not what HDFS has."""
    make_directory(command.cluster, f"{command.path}/joe", "755")
    applied = command.run("apply", str(command.file))
    assert str(applied.exception) == "filters that are broken, and were left alone: joe"
    assert applied.stdout == "filters: 1 added, 0 changed, 0 removed, 0 unchanged\n"
    assert applied.stderr.startswith("broken: joe: it has no ")
    assert command.run("diff", str(command.file)).exit_code == 1
    exported = command.run("export")
    assert str(exported.exception) == "filters that are broken are not in the file: joe"
    assert 'name = "ann"' in exported.stdout


def test_a_comparison_that_fails_is_no_difference(tmp_path: Path) -> None:
    """As of diff(1), whose 1 says that they differ."""
    file = tmp_path / "f.toml"
    file.write_text(FILE)
    result = CliRunner().invoke(nncache, ["filters", "diff", str(file), "--namenode-http", "127.0.0.1:1"])
    assert isinstance(result.exception, NotComparedError)
    assert result.exception.exit_code == 2


@pytest.mark.parametrize(
    ("name", "content", "reported"),
    [
        ("none", None, "No such file or directory"),
        ("bytes", b"\xff", "is not UTF-8: invalid start byte at byte 0"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes | None, reported: str
) -> None:
    """Before HDFS is asked."""
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"^{file}: {reported}"):
        read_file(str(file))


def test_a_place_that_cannot_be_written_is_named(command: Command, tmp_path: Path) -> None:
    """And exit code 2."""
    result = command.run("export", str(tmp_path / "none" / "f.toml"))
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception).endswith("No such file or directory")
