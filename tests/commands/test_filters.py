"""`nncache filters` against a real NameNode: HDFS itself says who may, and the command says it in one line."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nncache.commands.filters import filters, parts
from nncache.commands.group import nncache
from nncache.errors import ConfigurationError, FiltersError
from nncache.testbed import Cluster
from tests.cluster import make_directory, webhdfs

GLOB = "/user/joe/*/_SUCCESS"
NO_LIST = "it has no directory subscribers"


class Command:
    """The command, with a directory of filters that is this test's alone and that is not there yet."""

    def __init__(self, cluster: Cluster, directory: str) -> None:
        self.cluster = cluster
        self.path = f"{directory}/filters"
        self.namenodes = cluster.namenodes[0].http

    def run(self, *arguments: str, user: str | None = None) -> Result:
        """Run it and return what came of it; an error is in `exception`."""
        place = ("--filters-path", self.path, "--namenode-http", self.namenodes)
        who = ("--user", user or self.cluster.superuser)
        return CliRunner().invoke(nncache, ["filters", *arguments, *place, *who])

    def must(self, *arguments: str, user: str | None = None) -> str:
        """Return what it prints; it must succeed."""
        result = self.run(*arguments, user=user)
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        return result.stdout

    def refused(self, *arguments: str, user: str | None = None) -> str:
        """Return the one line of its refusal."""
        result = self.run(*arguments, user=user)
        assert isinstance(result.exception, FiltersError), (arguments, result.output, result.exception)
        assert (result.exception.exit_code, result.output) == (1, "")
        return str(result.exception)

    def subscribers(self, name: str) -> list[str]:
        """Return who may subscribe, as anybody may read it."""
        found: list[str] = json.loads(self.must("show", name, "--json", user="carol"))["allowedSubscribers"]
        return found


@pytest.fixture
def command(cluster: Cluster, administrators_directory: str) -> Command:
    """A fresh directory of filters."""
    return Command(cluster, administrators_directory)


@pytest.fixture
def joe(command: Command) -> Command:
    """With a filter `joe` of alice's."""
    command.must("add", "--name", "joe", "--glob", GLOB, "--owner", "alice", "--allow", "bob")
    return command


def test_administrators_add_and_remove(command: Command) -> None:
    """The superuser does both; the directory is made with the first filter."""
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
    """Not even the owner; HDFS refuses, the line says who may, and nothing has changed."""
    before = webhdfs(joe.cluster, "GET", joe.path, "LISTSTATUS")
    for arguments in (("add", "--name", "mine", "--glob", "/a"), ("remove", "joe")):
        line = joe.refused(*arguments, user=user)
        assert line.startswith(
            f"only an administrator (a superuser of HDFS) may add and remove filters in {joe.path}; "
            f"HDFS says: Permission denied: user={user}, access=WRITE, "
        )
    assert webhdfs(joe.cluster, "GET", joe.path, "LISTSTATUS") == before


def test_without_the_directory_nobody_else_makes_it(cluster: Cluster, administrators_directory: str) -> None:
    """An ordinary user cannot begin a directory of filters where administrators keep theirs."""
    line = Command(cluster, administrators_directory).refused(
        "add", "--name", "a", "--glob", "/a", user="alice"
    )
    assert line.startswith("only an administrator (a superuser of HDFS) may add")


def test_the_owner_says_who_may_subscribe(joe: Command) -> None:
    """And an administrator may, too; what is so already is said to be so."""
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
    """A subscriber is no owner."""
    for arguments in (("allow", "joe", user), ("deny", "joe", "bob")):
        line = joe.refused(*arguments, user=user)
        assert line.startswith(
            "only alice, who owns filter joe, or an administrator may say who may subscribe to it; "
            f"HDFS says: Permission denied: user={user}, access=WRITE, "
        )
    assert joe.subscribers("joe") == ["bob"]


def test_the_owner_may_use_hdfs_itself(joe: Command) -> None:
    """`hdfs dfs -touchz` and `-rm` edit the same list; another file in it that is no user is named and ignored."""
    place = f"{joe.path}/joe/subscribers"
    shell = joe.cluster.fs_shell("-touchz", f"{place}/carol", f"{place}/o\tdd", user="alice")
    assert shell.exit_code == 0, shell.stderr
    assert joe.subscribers("joe") == ["bob", "carol"]
    shell = joe.cluster.fs_shell("-rm", "-skipTrash", f"{place}/bob", user="alice")
    assert shell.exit_code == 0, shell.stderr
    shown = joe.run("show", "joe", user="alice")
    assert shown.stdout.endswith("  subscribers  carol\n")
    assert shown.stderr == "ignored: joe: 'o\\tdd' among its subscribers is no user name\n"


def test_everybody_may_look(joe: Command) -> None:
    """In words and in JSON, under the names of the design."""
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
    """The others are listed all the same, and the exit status says that all went well."""
    make_directory(joe.cluster, f"{joe.path}/bad", "755")
    listed = joe.run("list")
    assert listed.exit_code == 0
    assert f"joe   {GLOB}  alice  bob" in listed.stdout
    assert listed.stderr == f"broken: bad: {NO_LIST}\n"
    assert json.loads(joe.run("list", "--json").stdout)["broken"] == [{"name": "bad", "reason": NO_LIST}]
    assert joe.refused("show", "bad") == (f"filter bad in {joe.path} is broken: {NO_LIST}")


def test_a_filter_that_others_may_write_is_listed_as_such(joe: Command) -> None:
    """The line says what to run; the filter is listed all the same."""
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


def test_a_name_is_given_once(joe: Command) -> None:
    """The refusal says whose it is."""
    line = joe.refused("add", "--name", "joe", "--glob", "/other", "--owner", "bob")
    assert line == (
        f"there is a filter joe in {joe.path} already, alice's for {GLOB}: remove it first, or take another name"
    )


def test_of_two_who_add_one_name_at_once_one_wins(command: Command) -> None:
    """Two administrators at two terminals."""
    with ThreadPoolExecutor(2) as pool:
        results = list(
            pool.map(
                lambda owner: command.run("add", "--name", "f", "--glob", "/a", "--owner", owner),
                ["ann", "ben"],
            )
        )
    assert sorted(result.exit_code for result in results) == [0, 1]
    assert len(json.loads(command.must("list", "--json"))["filters"]) == 1


def test_an_unknown_name_leads_to_the_nearest(joe: Command) -> None:
    """Of each command that takes one."""
    for arguments in (("show", "jo"), ("remove", "jo"), ("allow", "jo", "x"), ("deny", "jo", "x")):
        assert joe.refused(*arguments) == f"there is no filter jo in {joe.path}; the nearest is joe"


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
    """A wrong option: exit status 2, before any NameNode is asked."""
    result = CliRunner().invoke(filters, [*arguments, "--namenode-http", "127.0.0.1:1"])
    assert isinstance(result.exception, ConfigurationError)
    assert str(result.exception).startswith(line)


def test_a_missing_option_is_named() -> None:
    """As by every command."""
    result = CliRunner().invoke(filters, ["add", "--name", "a"])
    assert (result.exit_code, "Missing option '--glob'" in result.output) == (2, True)
    assert CliRunner().invoke(filters, ["allow", "joe"]).exit_code == 2


@contextmanager
def standby() -> Iterator[str]:
    """Run a NameNode that says that it is not the active one; yields its address."""
    body = json.dumps({"RemoteException": {"exception": "StandbyException", "message": "in state standby"}})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_PUT = do_GET  # noqa: N815 - the name that the server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_active_namenode_is_found(joe: Command, tmp_path: Path) -> None:
    """Whichever is named first; alone, a standby says what is missing. A file can name them, too."""
    with standby() as address:
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
    """As they are typed or pasted."""
    assert parts(("a,b", "c", " d , ,e")) == ("a", "b", "c", "d", "e")
