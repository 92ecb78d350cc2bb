"""`nncache filters` against a real NameNode: HDFS checks permissions, and the command reports a refusal in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from nncache.commands.filters import filters, parts
from nncache.commands.filters_files import read_file
from nncache.commands.group import nncache
from nncache.errors import ConfigurationError, FiltersError, NotComparedError, StartError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.filter_file import encode_filters
from nncache.testbed import Cluster
from tests.cluster import make_directory, webhdfs
from tests.commands.a_terminal import on_a_terminal
from tests.http_server import http_server

GLOB = "/user/joe/*/_SUCCESS"
NO_LIST = "it has no directory subscribers"
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
    """The command with a filter directory of this test that does not exist yet, and a filter file."""

    def __init__(self, cluster: Cluster, directory: str, file: Path) -> None:
        self.cluster = cluster
        self.path = f"{directory}/filters"
        self.namenodes = cluster.namenodes[0].http
        self.file = file

    def run(self, *arguments: str, text: str | None = None, user: str | None = None) -> Result:
        """Run the command, optionally with text on standard input. An error is in `exception`."""
        place = ("--filters-path", self.path, "--namenode-http", self.namenodes)
        who = ("--user", user or self.cluster.superuser)
        return CliRunner().invoke(nncache, ["filters", *arguments, *place, *who], input=text)

    def done(self, *arguments: str, text: str | None = None, user: str | None = None) -> Result:
        """Return the result of a command that must succeed."""
        result = self.run(*arguments, text=text, user=user)
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        return result

    def must(self, *arguments: str, text: str | None = None, user: str | None = None) -> str:
        """Return the standard output of a command that must succeed."""
        return self.done(*arguments, text=text, user=user).stdout

    def refused(self, *arguments: str, user: str | None = None, kind: type[StartError] = FiltersError) -> str:
        """Return the one-line message of a command that must fail."""
        result = self.run(*arguments, user=user)
        assert isinstance(result.exception, kind), (arguments, result.output, result.exception)
        assert (result.exception.exit_code, result.output) == (kind.exit_code, "")
        return str(result.exception)

    def shown(self, name: str) -> dict[str, Any]:
        """Return a filter, as any user can read it."""
        found: dict[str, Any] = json.loads(self.must("show", name, "--json", user="carol"))
        return found

    def subscribers(self, name: str) -> list[str]:
        """Return the users who may subscribe."""
        found: list[str] = self.shown(name)["allowedSubscribers"]
        return found


@pytest.fixture
def command(cluster: Cluster, administrators_directory: str, tmp_path: Path) -> Command:
    """The command with an absent filter directory, and a file of two filters."""
    made = Command(cluster, administrators_directory, tmp_path / "filters.toml")
    made.file.write_text(FILE)
    return made


@pytest.fixture
def joe(command: Command) -> Command:
    """The command with a filter `joe` that alice owns and bob may subscribe to."""
    command.must("add", "--name", "joe", "--glob", GLOB, "--owner", "alice", "--allow", "bob")
    return command


def test_administrators_add_and_remove(command: Command) -> None:
    """The superuser does both. Adding the first filter creates the directory."""
    added = command.must(
        *(
            "add",
            "--name",
            "joe",
            "--glob",
            GLOB,
            "--owner",
            "alice",
            "--allow",
            "bob,carol",
            "--allow",
            "dave",
        )
    )
    assert added == (
        f"added filter joe for {GLOB}, which belongs to alice; who may subscribe: bob, carol, dave\n"
    )
    assert command.must("list").splitlines() == [
        "NAME  GLOB                  OWNER  SUBSCRIBERS",
        f"joe   {GLOB}  alice  bob,carol,dave",
    ]
    assert command.must("remove", "joe") == "removed filter joe\n"
    assert command.must("list").splitlines() == ["NAME  GLOB  OWNER  SUBSCRIBERS"]


@pytest.mark.parametrize("user", ["alice", "bob", "carol"])
def test_nobody_else_adds_or_removes(joe: Command, user: str) -> None:
    """The owner may not, either. HDFS refuses, the line says who may, and nothing changes."""
    before = webhdfs(joe.cluster, "GET", joe.path, "LISTSTATUS")
    for arguments in (("add", "--name", "mine", "--glob", "/a"), ("remove", "joe")):
        line = joe.refused(*arguments, user=user)
        assert line.startswith(
            f"only an administrator (a superuser of HDFS) may add and remove filters in {joe.path}; "
            f"HDFS says: Permission denied: user={user}, access=WRITE, "
        )
    assert webhdfs(joe.cluster, "GET", joe.path, "LISTSTATUS") == before


def test_without_the_directory_nobody_else_makes_it(command: Command) -> None:
    """An ordinary user cannot create a filter directory inside the administrators' directory."""
    line = command.refused("add", "--name", "a", "--glob", "/a", user="alice")
    assert line.startswith("only an administrator (a superuser of HDFS) may add")


def test_the_owner_says_who_may_subscribe(joe: Command) -> None:
    """An administrator may, too. A change that is already in effect is reported as such."""
    assert joe.must("allow", "joe", "carol", "dave,bob", user="alice").splitlines() == [
        "filter joe: bob may subscribe already",
        "filter joe: carol may subscribe",
        "filter joe: dave may subscribe",
    ]
    assert joe.must("deny", "joe", "bob", "eve", user="alice").splitlines() == [
        "filter joe: bob may subscribe no longer",
        "filter joe: eve was not allowed",
    ]
    joe.must("allow", "joe", "eve")
    joe.must("deny", "joe", "dave")
    assert joe.subscribers("joe") == ["carol", "eve"]


@pytest.mark.parametrize("user", ["bob", "carol"])
def test_nobody_else_says_who_may_subscribe(joe: Command, user: str) -> None:
    """A subscriber is not the owner."""
    for arguments in (("allow", "joe", user), ("deny", "joe", "bob")):
        line = joe.refused(*arguments, user=user)
        assert line.startswith(
            "only alice, who owns filter joe, or an administrator may say who may subscribe to it; "
            f"HDFS says: Permission denied: user={user}, access=WRITE, "
        )
    assert joe.subscribers("joe") == ["bob"]


def test_the_owner_may_use_hdfs_itself(joe: Command) -> None:
    """`hdfs dfs -touchz` and `-rm` edit the same list. A file whose name is no user name is reported and ignored."""
    place = f"{joe.path}/joe/subscribers"
    shell = joe.cluster.fs_shell("-touchz", f"{place}/carol", f"{place}/o\tdd", user="alice")
    assert shell.returncode == 0, shell.stderr
    assert joe.subscribers("joe") == ["bob", "carol"]
    shell = joe.cluster.fs_shell("-rm", "-skipTrash", f"{place}/bob", user="alice")
    assert shell.returncode == 0, shell.stderr
    shown = joe.run("show", "joe", user="alice")
    assert shown.stdout.endswith("  subscribers  carol\n")
    assert shown.stderr == "ignored: joe: 'o\\tdd' among its subscribers is no user name\n"


def test_everybody_may_look(joe: Command) -> None:
    """In text and in JSON, with the field names of the design."""
    assert joe.must("show", "joe", user="carol").splitlines() == [
        "joe",
        f"  glob         {GLOB}",
        "  owner        alice",
        "  subscribers  bob",
    ]
    shown = {"name": "joe", "pathGlob": GLOB, "owner": "alice", "allowedSubscribers": ["bob"]}
    assert json.loads(joe.must("show", "joe", "--json", user="dr.who")) == shown
    assert json.loads(joe.must("list", "--json", user="carol")) == {
        "filters": [shown],
        "broken": [],
        "refused": [],
    }


def test_a_broken_filter_is_listed_as_such(joe: Command) -> None:
    """The other filters are listed, and the exit code is 0."""
    make_directory(joe.cluster, f"{joe.path}/bad", "755")
    listed = joe.run("list")
    assert listed.exit_code == 0
    assert f"joe   {GLOB}  alice  bob" in listed.stdout
    assert listed.stderr == f"broken: bad: {NO_LIST}\n"
    assert json.loads(joe.run("list", "--json").stdout)["broken"] == [{"name": "bad", "reason": NO_LIST}]
    assert joe.refused("show", "bad") == (f"filter bad in {joe.path} is broken: {NO_LIST}")


def test_a_filter_that_others_may_write_is_listed_as_such(joe: Command) -> None:
    """The line names the command that mends it. The filter is listed, too."""
    make_directory(joe.cluster, f"{joe.path}/joe/subscribers", "777")
    listed, shown = joe.run("list"), joe.run("show", "joe")
    assert f"joe   {GLOB}  alice  bob" in listed.stdout
    assert (
        listed.stderr
        == shown.stderr
        == (
            f"refused by the publisher: joe: {joe.path}/joe/subscribers may be written by others than its owner "
            f"(mode 777): hdfs dfs -chmod go-w {joe.path}/joe/subscribers\n"
        )
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("add", "--name", "a/b", "--glob", "/a"), "name: 'a/b': must be letters"),
        (("add", "--name", "a", "--glob", "a"), "glob: a: at position 0: a glob begins with a /"),
        (("add", "--name", "a", "--glob", "/a", "--owner", "a/b"), "owner: 'a/b': must be a user name"),
        (("add", "--name", "a", "--glob", "/a", "--allow", "ok,a:b"), "subscriber: 'a:b': must be"),
        (("show", ".."), "name: '..': must be letters"),
        (("remove", "../x"), "name: '../x': must be letters"),
        (("allow", "joe", "../x"), "subscriber: '../x': must be"),
        (("list", "--filters-path", "apps"), "filters_path: apps: must be a canonical path"),
    ],
)
def test_what_makes_no_sense_touches_nothing(arguments: tuple[str, ...], line: str) -> None:
    """An invalid option is exit code 2, before any NameNode is asked."""
    result = CliRunner().invoke(filters, [*arguments, "--namenode-http", "127.0.0.1:1"])
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception).startswith(line)


def test_a_missing_option_is_named() -> None:
    """The usage error is click's own, as for every command."""
    result = CliRunner().invoke(filters, ["add", "--name", "a"])
    assert (result.exit_code, "Missing option '--glob'" in result.output) == (2, True)
    assert CliRunner().invoke(filters, ["allow", "joe"]).exit_code == 2


STANDBY = json.dumps({"RemoteException": {"exception": "StandbyException", "message": "in state standby"}})


def test_the_active_namenode_is_found(joe: Command, tmp_path: Path) -> None:
    """The order of the addresses does not matter. A lone standby is reported. A file may name them, too."""
    with http_server(403, body=STANDBY) as address:
        active, joe.namenodes = joe.namenodes, f"127.0.0.1:1,{address},{joe.namenodes}"
        assert "joe" in joe.must("list")
        joe.must("allow", "joe", "eve")
        config = tmp_path / "nncache.toml"
        config.write_text(
            f'namenode_http = ["{address}", "{active}"]\nfilters_path = "{joe.path}"\nlisten = "127.0.0.1:9871"\n'
        )
        result = CliRunner().invoke(filters, ["show", "joe", "--config", str(config)])
        assert result.stdout.endswith("bob, eve\n")
        joe.namenodes = address
        assert joe.refused("list") == (
            f"the filters in {joe.path} cannot be read: this NameNode is not the active one, "
            "all of them must be named (in state standby)"
        )


def test_users_are_separated_by_commas_and_blanks() -> None:
    """Users may be typed or pasted with either separator."""
    assert parts(("a,b", "c", " d , ,e")) == ("a", "b", "c", "d", "e")


def test_a_glob_that_matches_less_than_it_seems_to_is_reported(command: Command) -> None:
    """The command refuses it without `--yes`: `**` may be meant for one level."""
    deep = ("add", "--name", "deep", "--glob", "/user/**/x")
    line = command.refused(*deep, kind=ConfigurationError)
    assert "stays within one level" in line
    assert "; nothing was changed: --yes" in line
    assert "deep" not in command.must("list")
    added = command.done(*deep, "--yes")
    assert added.stdout.startswith("added filter deep for /user/**/x")
    assert added.stderr.startswith("/user/**/x: ** stays within one level, as * does in Hadoop")
    assert command.done("add", "--name", "flat", "--glob", "/user/*/x").stderr == ""


def test_what_is_refused_is_not_written(command: Command) -> None:
    """The limits of the publisher apply, from flags or the file. `list` names filters that exceed them."""

    def refused(*words: str) -> str:
        return command.refused(*words, kind=ConfigurationError)

    def add(name: str, glob: str, owner: str) -> tuple[str, ...]:
        return ("add", "--name", name, "--glob", glob, "--owner", owner)

    few, per_owner = ("--max-filters", "1"), ("--max-filters-per-owner", "1")
    assert refused(*add("wide", "/*/x", "ann")).startswith(
        "filter wide is refused: /*/x has a wildcard in level 1 "
    )
    command.must(*add("a", "/user/a", "ann"))
    assert refused(*add("b", "/user/b", "ann"), *few).startswith(
        "filter b is refused: there are 1 filters already"
    )
    owned = "filter b is refused: ann owns 1 filters already"
    assert refused(*add("b", "/user/b", "ann"), *per_owner).startswith(owned)
    assert command.refused(*add("a", "/user/a", "ann"), *few).startswith("there is a filter a ")
    command.must(*add("b", "/user/b", "joe"))
    assert refused("modify", "b", "--owner", "ann", *per_owner).startswith(owned)
    assert refused("modify", "b", "--glob", "/*").startswith(
        "filter b is refused: /* has a wildcard in level 1"
    )
    command.file.write_text(encode_filters([Filter("c", "/user/c", "ann"), Filter("d", "/*", "ann")]))
    applied = command.run("apply", str(command.file), *per_owner)
    assert isinstance(applied.exception, FiltersError)
    assert str(applied.exception) == "refused, so nothing was changed: c, d"
    listed = command.done("list", *few)
    assert "c  " not in listed.stdout
    assert listed.stderr == (
        "refused, unless it was in force before the limit: b: there are 1 filters already (max_filters)\n"
    )


def test_a_filter_is_modified(command: Command) -> None:
    """Glob, owner or both change; the subscribers stay."""
    command.must("add", "--name", "a", "--glob", "/user/a", "--owner", "ann", "--allow", "bob")
    odd = ("modify", "a", "--glob", "/user/a/**")
    assert "nothing was changed: --yes" in command.refused(*odd, kind=ConfigurationError)
    modified = command.done(*odd, "--yes")
    assert modified.stdout == "modified filter a: glob /user/a -> /user/a/**\n"
    assert "** stays within one level" in modified.stderr
    both = ("modify", "a", "--glob", "/user/b", "--owner", "joe")
    assert command.must(*both) == "modified filter a: glob /user/a/** -> /user/b; owner ann -> joe\n"
    assert command.must(*both) == "filter a is so already\n"
    assert command.shown("a") == {
        "name": "a",
        "pathGlob": "/user/b",
        "owner": "joe",
        "allowedSubscribers": ["bob"],
    }
    refusal = command.refused("modify", "a", kind=ConfigurationError)
    assert refusal == "nothing to modify: give --glob, --owner or both"


def test_a_terminal_shows_a_table(joe: Command) -> None:
    """Its headings are lowercase; a pipe gets columns with uppercase headings."""
    program = (sys.executable, "-m", "nncache.commands.cli", "filters", "list")
    shown = on_a_terminal(*program, "--namenode-http", joe.namenodes, "--filters-path", joe.path)
    assert "subscribers" in shown
    assert GLOB in shown
    assert "SUBSCRIBERS" not in shown


def test_a_file_is_applied_once_and_comes_back(command: Command) -> None:
    """`diff` prints what `apply` will do. A second `apply` changes nothing, and `export` writes an equivalent file."""
    file = str(command.file)
    user = command.cluster.superuser
    differing = command.run("diff", file)
    assert differing.exit_code == 1
    assert differing.stdout.splitlines() == [
        f"+ ann  /user/ann/*  owner {user}  subscribers -",
        "+ joe  /user/joe/*/_SUCCESS  owner joe  subscribers alice",
    ]
    assert command.must("apply", file, "--dry-run") == differing.stdout
    assert command.run("diff", file).exit_code == 1, "a dry run does nothing"
    assert command.must("apply", file) == "filters: 2 added, 0 changed, 0 removed, 0 unchanged\n"
    assert command.must("apply", file) == "filters: 0 added, 0 changed, 0 removed, 2 unchanged\n"
    assert command.must("diff", file) == ""
    exported = command.must("export")
    assert command.must("diff", "-", text=exported) == ""
    target = command.file.with_name("out.toml")
    command.done("export", str(target))
    assert target.read_text() == exported


def test_a_glob_that_matches_less_than_it_seems_is_reported(command: Command) -> None:
    """The whole file is refused without `--yes`. The warning is printed only when the glob changes."""
    command.file.write_text(FILE.replace("/user/ann/*", "/user/**"))
    file, trouble = str(command.file), "/user/**: ** stays within one level"
    assert command.run("diff", file).stderr.startswith(trouble)
    refused = command.run("apply", file)
    assert isinstance(refused.exception, ConfigurationError)
    assert str(refused.exception).startswith("nothing was changed: --yes")
    assert refused.stderr.startswith(trouble)
    applied = command.done("apply", file, "--yes")
    assert applied.stdout == "filters: 2 added, 0 changed, 0 removed, 0 unchanged\n"
    assert applied.stderr.startswith(trouble)
    assert command.done("apply", file).stderr == ""


def test_a_file_changes_what_it_names_and_prunes_when_asked(command: Command) -> None:
    """Filters that are not in the file stay without `--prune`. The JSON has the plan and the result."""
    command.done("apply", str(command.file))
    file = '[[filter]]\nname = "joe"\nglob = "/user/joe/b*"\nsubscribers = ["bob"]\n'
    kept = command.done("apply", "-", text=file)
    assert kept.stdout == "filters: 0 added, 1 changed, 0 removed, 0 unchanged\n"
    assert kept.stderr == "not in the file, and kept (--prune removes what is not): ann\n"
    assert command.shown("joe") == {
        "name": "joe",
        "pathGlob": "/user/joe/b*",
        "owner": "joe",
        "allowedSubscribers": ["bob"],
    }
    pruned = json.loads(command.must("apply", "-", "--prune", "--json", text=file))
    assert (pruned["removed"], pruned["done"]) == (["ann"], {"added": 0, "changed": 0, "removed": 1})
    assert json.loads(command.must("diff", "-", "--json", text=file))["unchanged"] == 1


def test_a_bad_file_changes_nothing_and_all_its_errors_are_listed(command: Command) -> None:
    """The valid entries are not applied, either: exit code 2."""
    command.file.write_text(FILE + '[[filter]]\nname = "a/b"\nglob = "x"\n')
    for verb in ("apply", "diff"):
        result = command.run(verb, str(command.file))
        assert isinstance(result.exception, ConfigurationError)
        assert str(result.exception) == f"{command.file}: 2 errors: nothing was changed"
        name, glob = result.stderr.splitlines()
        assert name.startswith(f"{command.file}:12: filter 'a/b': name: 'a/b': must be letters")
        assert glob == f"{command.file}:13: filter 'a/b': glob: x: at position 0: a glob begins with a /"
    assert json.loads(command.must("list", "--json"))["filters"] == []


def test_only_administrators_apply(command: Command) -> None:
    """HDFS refuses. The line says what was done and that the file may be applied again."""
    command.done("add", "--name", "first", "--glob", "/first")
    result = command.run("apply", str(command.file), user="joe")
    assert isinstance(result.exception, FiltersError)
    assert str(result.exception).startswith("only an administrator (a superuser of HDFS) may add and remove")
    assert str(result.exception).endswith("what was done stays: apply the file again to go on")
    assert result.stdout == "filters: 0 added, 0 changed, 0 removed, 0 unchanged\n"


def test_broken_filters_are_left_alone_and_named(command: Command) -> None:
    """The exit code is 1: HDFS and the file still differ."""
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
    """As in diff(1), exit code 1 means a difference, and 2 an error."""
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
    """The error comes before HDFS is asked."""
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"^{file}: {reported}"):
        read_file(str(file))


def test_a_file_of_windows_means_the_same(tmp_path: Path) -> None:
    """Its editors put a byte order mark before the first entry, and end lines with CRLF."""
    plain, windows = tmp_path / "plain.toml", tmp_path / "windows.toml"
    plain.write_text(FILE)
    windows.write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode())
    assert read_file(str(windows)) == read_file(str(plain))


def test_a_place_that_cannot_be_written_is_named(command: Command, tmp_path: Path) -> None:
    """The exit code is 2."""
    result = command.run("export", str(tmp_path / "none" / "f.toml"))
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception).endswith("No such file or directory")


@pytest.mark.parametrize("words", [(), ("filters",), ("registry",)])
def test_no_summary_of_a_command_is_cut(words: tuple[str, ...]) -> None:
    """Each summary fits a terminal of 80 columns."""
    assert "..." not in CliRunner().invoke(nncache, [*words, "--help"]).output.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("words", "needless"),
    [
        (("--help",), {"nncache.settings.commands", "aiohttp", "kazoo", "rich", "uvloop"}),
        (("cluster", "--light", "--help"), {"nncache.settings.commands", "kazoo", "rich"}),
        (("proxy", "--help"), {"nncache.daemons", "aiohttp", "kazoo", "rich"}),
    ],
    ids=["the list", "a light cluster", "a daemon"],
)
def test_no_command_waits_for_the_libraries_of_another(words: tuple[str, ...], needless: set[str]) -> None:
    """Their import would multiply the start time."""
    code = (
        f"import sys; sys.argv[1:] = {words!r}\nfrom nncache.commands.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"assert not {needless!r} & {{*sys.modules}}, {needless!r} & {{*sys.modules}}"
    )
    # A variable with the prefix is compared with all settings, which imports them.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NNCACHE_")}
    subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, stdout=subprocess.DEVNULL, env=environment
    )


def test_the_daemons_do_not_need_the_test_bed(tmp_path: Path) -> None:
    """They start where the test bed is not installed."""
    (tmp_path / "testbed.py").write_text("raise ImportError('not here')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import nncache.daemons.proxy_process, nncache.daemons.publisher_wiring, nncache.commands.group\n"
        "assert not {'testbed', 'demo'} & {name.split('.')[0] for name in sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_secret_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a variable that would hold a secret names the key of its file instead."""
    monkeypatch.setenv("NNCACHE_ADMIN_TOKEN", "hidden")
    refused = CliRunner().invoke(nncache, ["proxy"])
    assert isinstance(refused.exception, ConfigurationError)
    assert "name that file in admin_token_file" in str(refused.exception)
    assert "hidden" not in str(refused.exception)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_it_is_for_the_program_as_installed(shell: str) -> None:
    """The script completes `nncache` and uses click's variable."""
    result = CliRunner().invoke(nncache, ["completion", shell])
    assert result.exit_code == 0
    assert f"_NNCACHE_COMPLETE={shell}_complete" in result.output
    assert "nncache" in result.output


def test_bash_completes_with_it() -> None:
    """A real bash completes a subcommand and an option."""
    place = Path(sys.executable).parent
    ask = (
        f'PATH={place}:$PATH; source <(nncache completion bash); COMP_WORDS=(nncache $1 "$2"); COMP_CWORD=$3; '
        '_nncache_completion nncache; echo "${COMPREPLY[@]}"'
    )

    def completed(before: str, begun: str, at: int) -> list[str]:
        command = ["bash", "-c", ask, "bash", before, begun, str(at)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()

    assert completed("filters", "ex", 2) == ["export"]
    assert completed("explain", "--conf", 2) == ["--config"]
