"""A light cluster from its users' side: over HTTP, through third-party clients, on the command line."""

import asyncio
import contextlib
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import hdfs
import pytest
from pywebhdfs.webhdfs import PyWebHdfsClient

from nncache import LightCluster
from nncache.hadoop.rpc.framing import FrameSplitter
from nncache.hadoop.rpc.messages import Reply, RpcRefusal, RpcSuccess, encode_call, parse_reply
from nncache.hadoop.rpc.proto import client_namenode_pb2 as pb
from nncache.namenode.namespace import leases
from nncache.namenode.namespace.permissions import Caller
from nncache.namenode.node.namenode import NameNodeService
from nncache.namenode.rpc.server import MAX_CALLS
from tests.namenode.asking import ask, call, target
from tests.namenode.odd_calls import ALICE, BEGIN, CLIENT, CLIENT_ID, INFO
from tests.patience import HANG_S, until
from tests.real.datanode import CONTINUE

HARD_S = 1201.0
DATA = bytes(range(256)) * 40


def begun_upload(cluster: LightCluster, path: str, length: int, sent: bytes) -> socket.socket:
    """Begin an upload of `length` bytes; send `sent` after the DataNode's `100 Continue`, which comes unrequested."""
    redirected = ask(cluster.namenode_http, "PUT", target(path, "CREATE", "alice"))
    address, _, rest = redirected.headers["Location"].partition("//")[2].partition("/")
    host, _, port = address.partition(":")
    connection = socket.create_connection((host, int(port)), timeout=HANG_S)
    head = f"PUT /{rest} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n"
    connection.sendall(head.encode())
    assert connection.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
    connection.sendall(sent)
    return connection


def length_of(cluster: LightCluster, path: str) -> int:
    """Return a file's length."""
    length: int = call(cluster.namenode_http, "GET", path, "GETFILESTATUS").json["FileStatus"]["length"]
    return length


@pytest.fixture
def homes(light_cluster: LightCluster) -> LightCluster:
    """Return a cluster with a home for alice."""
    for path in ("/user/alice",):
        call(light_cluster.namenode_http, "PUT", path, "MKDIRS", light_cluster.superuser)
        call(light_cluster.namenode_http, "PUT", path, "SETOWNER", light_cluster.superuser, owner="alice")
    return light_cluster


def test_both_steps_of_reading_and_writing(homes: LightCluster) -> None:
    """An uploaded file is read whole and in part; with `noredirect` the reply names the second step's URL."""
    http = homes.namenode_http
    written = call(http, "PUT", "/user/alice/f", "CREATE", "alice", DATA, blocksize=1024)
    assert (written.status, written.headers["Location"]) == (
        201,
        f"hdfs://{homes.namenode_rpc}/user/alice/f",
    )
    assert call(http, "GET", "/user/alice/f", "OPEN", "alice").body == DATA
    assert (
        call(http, "GET", "/user/alice/f", "OPEN", "alice", offset=1000, length=100).body == DATA[1000:1100]
    )
    named = call(http, "GET", "/user/alice/f", "OPEN", "alice", noredirect="true").json["Location"]
    assert named.startswith(f"http://{homes.datanode_http}/webhdfs/v1/user/alice/f?op=OPEN&user.name=alice")
    checksum = call(http, "GET", "/user/alice/f", "GETFILECHECKSUM", "alice").json["FileChecksum"]
    assert checksum["algorithm"] == "MD5-of-2MD5-of-512CRC32"


def test_an_upload_that_breaks_off_is_closed(homes: LightCluster) -> None:
    """As at HDFS's DataNode, the file is closed with the bytes received so far; it can be overwritten."""
    with begun_upload(homes, "/user/alice/cut", 1_000_000, DATA):
        pass
    until_closed(homes, "/user/alice/cut")
    assert length_of(homes, "/user/alice/cut") <= len(DATA)
    assert call(homes.namenode_http, "POST", "/user/alice/cut", "APPEND", "alice", b"x").status == 200


def until_there(cluster: LightCluster, path: str) -> None:
    """Wait until a file exists."""
    until(lambda: call(cluster.namenode_http, "GET", path, "GETFILESTATUS").status == 200, lambda: path)


def until_closed(cluster: LightCluster, path: str) -> None:
    """Wait until a file exists and is closed."""
    until_there(cluster, path)
    until(lambda: cluster.is_file_closed(path), lambda: path)


def test_a_datanode_that_stops_leaves_the_file_open(homes: LightCluster) -> None:
    """It stays open until a limit passes or the lease is recovered; then it has the bytes that the DataNode wrote."""
    homes.stop_uploads_after(5_000)
    with (
        contextlib.suppress(ConnectionError),
        begun_upload(homes, "/user/alice/f", len(DATA), DATA) as connection,
    ):
        while connection.recv(1024):
            pass
    homes.stop_uploads_after(None)
    assert not homes.is_file_closed("/user/alice/f")
    refused = call(homes.namenode_http, "POST", "/user/alice/f", "APPEND", "alice", b"x").error
    assert refused[0].endswith("AlreadyBeingCreatedException")
    homes.advance(1)
    homes.advance(HARD_S)
    assert homes.is_file_closed("/user/alice/f")
    assert 5_000 <= length_of(homes, "/user/alice/f") <= len(DATA)
    read = call(homes.namenode_http, "GET", "/user/alice/f", "OPEN", "alice").body
    assert DATA.startswith(read)
    assert len(read) == length_of(homes, "/user/alice/f")


def test_an_upload_under_way_keeps_its_lease(homes: LightCluster) -> None:
    """Its DataNode renews the lease, however far a test advances the clock; abandoned files are closed."""
    with begun_upload(homes, "/user/alice/slow", len(DATA), DATA[:1000]) as connection:
        until_there(homes, "/user/alice/slow")
        for _ in range(3):
            homes.advance(HARD_S)
        assert not homes.is_file_closed("/user/alice/slow")
        connection.sendall(DATA[1000:])
        assert connection.recv(1024).startswith(b"HTTP/1.1 201")
    assert call(homes.namenode_http, "GET", "/user/alice/slow", "OPEN", "alice").body == DATA


def test_truncate_inside_a_block_ends_at_a_tick(homes: LightCluster) -> None:
    """TRUNCATE returns false; the old length holds until the DataNode has cut its replica, then the new one."""
    http = homes.namenode_http
    call(http, "PUT", "/user/alice/f", "CREATE", "alice", DATA)
    homes.safe_mode(on=True)
    assert (
        call(http, "POST", "/user/alice/f", "TRUNCATE", "alice", newlength=7)
        .error[0]
        .endswith("SafeModeException")
    )
    homes.safe_mode(on=False)
    assert call(http, "POST", "/user/alice/f", "TRUNCATE", "alice", newlength=7).json == {"boolean": False}
    homes.tick()
    assert call(http, "GET", "/user/alice/f", "OPEN", "alice").body == DATA[:7]


def test_safe_mode_standby_and_unavailable(light_cluster: LightCluster) -> None:
    """Safe mode serves reads, a standby nothing; an unavailable one answers 503. Afterwards all is as before."""
    http = light_cluster.namenode_http
    light_cluster.safe_mode(on=True)
    assert call(http, "GET", "/", "GETFILESTATUS").status == 200
    assert call(http, "PUT", "/d", "MKDIRS", light_cluster.superuser).error == (
        "org.apache.hadoop.hdfs.server.namenode.SafeModeException",
        "Cannot create directory /d. Name node is in safe mode.",
    )
    light_cluster.safe_mode(on=False)
    light_cluster.standby(on=True)
    assert call(http, "GET", "/", "GETFILESTATUS").error == (
        "org.apache.hadoop.ipc.StandbyException",
        "Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error",
    )
    light_cluster.standby(on=False)
    light_cluster.unavailable(on=True)
    assert call(http, "GET", "/", "GETFILESTATUS").status == 503
    light_cluster.unavailable(on=False)
    assert call(http, "PUT", "/d", "MKDIRS", light_cluster.superuser).json == {"boolean": True}


def test_a_standby_does_not_answer_what_is_always_the_same(light_cluster: LightCluster) -> None:
    """As a standby NameNode, so that clients go on to the active one."""
    light_cluster.standby(on=True)
    for op in (
        "GETALLSTORAGEPOLICY", "GETDELEGATIONTOKEN", "GETECCODECS", "GETECPOLICIES", "GETSERVERDEFAULTS", "GETSTATUS",
        "GETTRASHROOT",
    ):  # fmt: skip
        refused = call(light_cluster.namenode_http, "GET", "/", op, "alice").error
        assert refused[0] == "org.apache.hadoop.ipc.StandbyException"


def test_names_that_zookeeper_would_refuse(light_cluster: LightCluster) -> None:
    """Emoji, control characters, percent signs and dots in names are returned unchanged."""
    names = {"\U0001f600", "a\tb", "%41;", "...", "\ue000x", "é"}
    for name in names:
        call(light_cluster.namenode_http, "PUT", f"/{name}", "MKDIRS", light_cluster.superuser)
    listed = call(light_cluster.namenode_http, "GET", "/", "LISTSTATUS").json
    assert {each["pathSuffix"] for each in listed["FileStatuses"]["FileStatus"]} == names


def test_a_name_that_no_header_takes_is_uploaded(homes: LightCluster) -> None:
    """The reply to an upload escapes the name as java.net.URI does."""
    http = homes.namenode_http
    reply = call(http, "PUT", "/user/alice/a\tb %[é", "CREATE", "alice", b"x")
    assert reply.status == 201
    location = reply.headers["Location"].encode("latin-1").decode()
    assert location.endswith("/user/alice/a%09b%20%25%5Bé")


def test_snapshottable_directories(light_cluster: LightCluster) -> None:
    """They cannot be nested or moved above the root; they have no snapshots; a deletion removes the status."""
    http, user = light_cluster.namenode_http, light_cluster.superuser
    call(http, "PUT", "/d/e/f", "MKDIRS", user)
    assert call(http, "PUT", "/d/e", "ALLOWSNAPSHOT", "alice").status == 403
    for _ in range(2):
        assert call(http, "PUT", "/d/e", "ALLOWSNAPSHOT", user).status == 200
    for method, path, op, words in (
        ("PUT", "/d/e/f", "ALLOWSNAPSHOT", "the ancestor /d/e is already"),
        ("PUT", "/d", "ALLOWSNAPSHOT", "the subdirectory /d/e is already"),
        ("PUT", "/d/e", "CREATESNAPSHOT", "the per directory snapshot limit is 0"),
        ("PUT", "/", "CREATESNAPSHOT", "the snapshot quota is 0"),
        ("PUT", "/d/e/f", "CREATESNAPSHOT", "not a snapshottable directory: /d/e/f"),
    ):
        assert words in call(http, method, path, op, user).error[1]
    assert (
        "Invalid snapshot name: a/b"
        in (call(http, "PUT", "/d/e", "CREATESNAPSHOT", user, snapshotname="a/b").error[1])
    )
    assert (
        "snapshot x from path /d/e: the snapshot does not exist"
        in (call(http, "DELETE", "/d/e", "DELETESNAPSHOT", user, snapshotname="x").error[1])
    )
    assert call(http, "GET", "/d/e", "GETSNAPSHOTLIST", user).json == {"SnapshotList": []}
    assert (
        "descent of a snapshottable directory"
        in (call(http, "PUT", "/d", "RENAME", user, destination="/moved").error[1])
    )

    def listed() -> list[str] | None:
        found = call(http, "GET", "/", "GETSNAPSHOTTABLEDIRECTORYLIST", user).json[
            "SnapshottableDirectoryList"
        ]
        return (
            None
            if found is None
            else [f"{each['parentFullPath']}/{each['dirStatus']['pathSuffix']}" for each in found]
        )

    assert call(http, "PUT", "/d/e", "RENAME", user, destination="/d/moved").json == {"boolean": True}
    assert listed() == ["/d/moved"]
    call(http, "DELETE", "/d", "DELETE", user, recursive="true")
    assert listed() is None
    call(http, "PUT", "/d", "MKDIRS", user)
    for op, shown in (("ALLOWSNAPSHOT", ["//d"]), ("DISALLOWSNAPSHOT", None)):
        call(http, "PUT", "/d", op, user)
        assert listed() == shown


def test_pages_of_a_large_directory(light_cluster: LightCluster) -> None:
    """LISTSTATUS returns all entries; LISTSTATUS_BATCH a thousand at a time, each page after the given name."""
    http, user = light_cluster.namenode_http, light_cluster.superuser
    for number in range(1_050):
        call(http, "PUT", f"/d/{number:04}", "MKDIRS", user)
    assert len(call(http, "GET", "/d", "LISTSTATUS").json["FileStatuses"]["FileStatus"]) == 1_050
    first = call(http, "GET", "/d", "LISTSTATUS_BATCH").json["DirectoryListing"]
    page = first["partialListing"]["FileStatuses"]["FileStatus"]
    assert (len(page), first["remainingEntries"]) == (1_000, 50)
    rest = call(http, "GET", "/d", "LISTSTATUS_BATCH", startafter=page[-1]["pathSuffix"]).json[
        "DirectoryListing"
    ]
    assert len(rest["partialListing"]["FileStatuses"]["FileStatus"]) == 50


def test_others_run_between_the_pages_of_a_listing(
    light_cluster: LightCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large directory does not hold the event loop until its last entry."""
    http, user = light_cluster.namenode_http, light_cluster.superuser
    for number in range(7):
        call(http, "PUT", f"/d/{number}", "MKDIRS", user)
    monkeypatch.setattr("nncache.namenode.node.namenode.LIST_LIMIT", 3)
    happened: list[str] = []
    listing = NameNodeService.listing

    async def noted(namenode: NameNodeService, caller: Caller, path: str, after: str = "") -> Any:
        happened.append("page")
        asyncio.get_running_loop().call_soon(happened.append, "others")
        return await listing(namenode, caller, path, after)

    monkeypatch.setattr(NameNodeService, "listing", noted)
    listed = call(http, "GET", "/d", "LISTSTATUS").json["FileStatuses"]["FileStatus"]
    assert [each["pathSuffix"] for each in listed] == list("0123456")
    assert happened[:5] == ["page", "others", "page", "others", "page"]


def test_what_was_kept_is_there_again(tmp_path: Path) -> None:
    """With a directory, a second cluster continues with the first one's files, data and leases."""
    with LightCluster(directory=tmp_path) as first:
        call(first.namenode_http, "PUT", "/d", "MKDIRS", first.superuser, permission="777")
        call(first.namenode_http, "PUT", "/d/f", "CREATE", "alice", DATA, blocksize=1024)
    with LightCluster(directory=tmp_path) as second:
        assert call(second.namenode_http, "GET", "/d/f", "OPEN", "alice").body == DATA
        call(second.namenode_http, "POST", "/d/f", "APPEND", "alice", b"more")
        assert call(second.namenode_http, "GET", "/d/f", "OPEN", "alice").body == DATA + b"more"


def test_twenty_at_once(tmp_path: Path) -> None:
    """Twenty clusters at the same time are isolated from each other."""
    with contextlib.ExitStack() as stack:
        clusters = [stack.enter_context(LightCluster()) for _ in range(20)]
        for number, cluster in enumerate(clusters):
            call(cluster.namenode_http, "PUT", f"/{number}", "MKDIRS", cluster.superuser)
        for number, cluster in enumerate(clusters):
            listed = call(cluster.namenode_http, "GET", "/", "LISTSTATUS").json["FileStatuses"]["FileStatus"]
            assert [each["pathSuffix"] for each in listed] == [str(number)]
        assert len({cluster.namenode_http for cluster in clusters}) == 20


def test_a_directory_serves_one_cluster_at_a_time(tmp_path: Path) -> None:
    """A second one would write over what the first one has acknowledged: it does not start, and changes nothing."""
    with LightCluster(directory=tmp_path) as first:
        with pytest.raises(OSError, match="database is locked"):
            LightCluster(directory=tmp_path).start()
        call(first.namenode_http, "PUT", "/d", "MKDIRS", first.superuser)
    with LightCluster(directory=tmp_path) as second:
        assert call(second.namenode_http, "GET", "/d", "GETFILESTATUS").status == 200


def test_the_trash_of_users_is_found(homes: LightCluster) -> None:
    """`hdfs dfs -expunge` empties the directories that GETTRASHROOTS names, and no other."""
    http, trash = homes.namenode_http, "/user/alice/.Trash"
    assert call(http, "GET", "/", "GETTRASHROOTS", "alice").json == {"Paths": None}
    call(http, "PUT", trash, "MKDIRS", "alice", permission="700")
    call(http, "PUT", "/user/bob", "MKDIRS", homes.superuser)

    def found(user: str, of_all: str = "false") -> list[str]:
        paths = call(http, "GET", "/", "GETTRASHROOTS", user, allusers=of_all).json["Paths"]
        return [each["path"] for each in paths or () if each["isdir"] and each["owner"] == "alice"]

    assert found("alice") == found("alice", "true") == found("bob", "true") == [trash]
    assert found("bob") == []


def test_a_datanode_refuses_methods_that_it_does_not_have(homes: LightCluster) -> None:
    """But it tells a browser that an upload from another origin is allowed."""
    path = target("/user/alice/f", "CREATE", "alice")
    assert ask(homes.datanode_http, "PATCH", path).error[1] == "Invalid operation CREATE"
    asked = ask(homes.datanode_http, "OPTIONS", path)
    assert (asked.status, asked.headers["Access-Control-Allow-Methods"]) == (200, "PUT")


def test_a_file_has_the_bytes_that_were_sent(homes: LightCluster) -> None:
    """Whatever Content-Encoding says of them: as at HDFS's DataNode nothing is decoded."""
    for data in (gzip.compress(DATA), b"no gzip"):
        redirected = ask(
            homes.namenode_http, "PUT", target("/user/alice/f", "CREATE", "alice", overwrite="true")
        )
        address, _, rest = redirected.headers["Location"].partition("//")[2].partition("/")
        assert ask(address, "PUT", f"/{rest}", data, (("Content-Encoding", "gzip"),)).status == 201
        assert call(homes.namenode_http, "GET", "/user/alice/f", "OPEN", "alice").body == data


def test_a_port_that_is_taken_is_reported_at_once(light_cluster: LightCluster) -> None:
    """start() raises OSError, and leaves nothing behind."""
    port = int(light_cluster.namenode_http.rpartition(":")[2])
    other = LightCluster(port=port)
    with pytest.raises(OSError, match=str(port)):
        other.start()
    other.stop()


# ---- third-party clients ---------------------------------------------------------------------------------------------


def test_hdfscli(homes: LightCluster) -> None:
    """HdfsCLI uploads, downloads, renames, lists, and reads content, status and ACLs; and deletes."""
    client = hdfs.InsecureClient(f"http://{homes.namenode_http}", user="alice")
    client.write("dir/part-0", data=b"hello ", overwrite=True)
    client.write("dir/part-0", data=b"world", append=True)
    with client.read("dir/part-0") as reader:
        assert reader.read() == b"hello world"
    client.rename("dir/part-0", "dir/done")
    assert client.list("dir") == ["done"]
    assert client.content("dir")["length"] == 11
    client.set_acl("dir", "user:bob:r-x", clear=False)
    assert "user:bob:r-x" in client.acl_status("dir")["entries"]
    client.set_permission("dir/done", "600")
    assert client.checksum("dir/done")["length"] == 28
    assert [paths[2] for paths in client.walk("dir")] == [["done"]]
    with pytest.raises(hdfs.HdfsError, match="File does not exist: /user/alice/none"):
        client.status("none")
    assert client.delete("dir", recursive=True)


def test_fsspec(homes: LightCluster) -> None:
    """Files, directories, globs and moves work through fsspec's webhdfs."""
    host, _, port = homes.namenode_http.partition(":")
    files: Any = fsspec.filesystem(
        "webhdfs", host=host, port=int(port), user="alice", use_listings_cache=False
    )
    files.makedirs("/user/alice/x/y", exist_ok=True)
    with files.open("/user/alice/x/y/f", "wb") as file:
        file.write(DATA)
    assert files.cat("/user/alice/x/y/f") == DATA
    assert files.cat_file("/user/alice/x/y/f", start=10, end=20) == DATA[10:20]
    assert files.info("/user/alice/x/y/f")["size"] == len(DATA)
    files.mv("/user/alice/x/y/f", "/user/alice/x/g")
    assert files.glob("/user/alice/x/*") == ["/user/alice/x/g", "/user/alice/x/y"]
    files.rm("/user/alice/x", recursive=True)
    assert not files.exists("/user/alice/x")


def test_pywebhdfs(homes: LightCluster) -> None:
    """Files and directories work through pywebhdfs."""
    host, _, port = homes.namenode_http.partition(":")
    client = PyWebHdfsClient(host=host, port=port, user_name="alice", timeout=HANG_S)
    client.create_file("user/alice/f", b"one")
    client.append_file("user/alice/f", b" two")
    assert client.read_file("user/alice/f") == b"one two"
    client.make_dir("user/alice/d", permission=750)
    client.rename_file_dir("user/alice/f", "/user/alice/d/f")
    names = client.list_dir("user/alice/d")["FileStatuses"]["FileStatus"]
    assert [each["pathSuffix"] for each in names] == ["f"]
    client.delete_file_dir("user/alice/d", recursive=True)
    assert not client.exists_file_dir("user/alice/d")


# ---- the command line ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Run `nncache cluster --light`; yield the process and the JSON that it prints."""
    command = (sys.executable, "-m", "nncache.commands.cli", "cluster", "--light", *arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def test_the_command_prints_where_it_is_and_stops() -> None:
    """It prints one line of JSON with a real cluster's keys; SIGTERM ends it with exit code 0; it never starts Java."""
    with started() as (process, printed):
        assert printed["pids"] == {"light": process.pid}
        assert call(printed["namenode_http"][0], "GET", "/", "LISTSTATUS").status == 200
        assert printed["users"]["alice"] == ["alice", "users"]
        assert {"hadoop_version", "superuser", "datanode_http", "directory", "start_s"} <= printed.keys()
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_S) == 0


def test_a_killed_process_loses_no_answered_upload(tmp_path: Path) -> None:
    """After SIGKILL during uploads, three times: each answered upload is whole, and all other files are readable."""
    answered: list[str] = []
    for attempt in range(3):
        with started("--directory", str(tmp_path)) as (process, printed):
            http = printed["namenode_http"][0]
            call(http, "PUT", "/d", "MKDIRS", printed["superuser"], permission="777")
            killer = threading.Timer(0.5, os.kill, (process.pid, signal.SIGKILL))
            killer.start()
            with contextlib.suppress(OSError):
                for number in range(10_000):
                    path = f"/d/{attempt}-{number}"
                    if call(http, "PUT", path, "CREATE", "alice", DATA, blocksize=1024).status == 201:
                        answered.append(path)
            killer.join()
    with LightCluster(directory=tmp_path) as cluster:
        cluster.advance(1)
        cluster.advance(HARD_S)
        cluster.tick()
        listed = call(cluster.namenode_http, "GET", "/d", "LISTSTATUS").json["FileStatuses"]["FileStatus"]
        found = {f"/d/{each['pathSuffix']}": each["length"] for each in listed}
        assert answered
        assert {path: found.get(path) for path in answered} == dict.fromkeys(answered, len(DATA))
        for path, length in found.items():
            read = call(cluster.namenode_http, "GET", path, "OPEN", "alice").body
            assert (len(read), DATA.startswith(read)) == (length, True), path


def test_an_upload_without_room_is_closed_with_what_was_written(homes: LightCluster) -> None:
    """As with HDFS's client: the NameNode refuses the next block, and the writer gets that exception."""
    http = homes.namenode_http
    call(http, "PUT", "/q", "MKDIRS", homes.superuser, permission="777")
    call(http, "PUT", "/q", "SETQUOTA", homes.superuser, storagespacequota=1024)
    refused = call(http, "PUT", "/q/f", "CREATE", "alice", bytes(3000), blocksize=1024).error
    assert refused[0].endswith("DSQuotaExceededException")
    assert homes.is_file_closed("/q/f")
    assert length_of(homes, "/q/f") == 1024


def test_a_redirect_names_the_composed_form(homes: LightCluster) -> None:
    """The Location is in Unicode normalization form C, as Java's is; with noredirect it is as requested."""
    spelled = "/user/alice/cafe\N{COMBINING ACUTE ACCENT}"
    redirected = ask(homes.namenode_http, "PUT", target(spelled, "CREATE", "alice"))
    assert "/caf%C3%A9?" in redirected.headers["Location"]
    named = call(homes.namenode_http, "PUT", spelled, "CREATE", "alice", noredirect="true")
    assert "/cafe%CC%81?" in named.json["Location"]


def test_a_tree_as_deep_as_hdfs_makes_any(homes: LightCluster) -> None:
    """It can be counted, moved, deleted by a user whose permissions on all of it are checked, and reclaimed."""
    http, deep = homes.namenode_http, "/user/alice" + "/d" * 990
    assert call(http, "PUT", deep, "MKDIRS", "alice").json["boolean"]
    counted = call(http, "GET", "/user/alice/d", "GETCONTENTSUMMARY", "alice").json["ContentSummary"]
    assert counted["directoryCount"] == 990
    assert call(http, "PUT", "/user/alice/d", "RENAME", "alice", destination="/user/alice/moved").json[
        "boolean"
    ]
    assert call(http, "DELETE", "/user/alice/moved", "DELETE", "alice", recursive="true").json["boolean"]
    homes.tick()
    assert call(http, "GET", "/user/alice", "LISTSTATUS", "alice").json["FileStatuses"]["FileStatus"] == []


def test_an_internal_error_costs_one_call(homes: LightCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call on the same connection is answered."""

    def fail(*_: object) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(leases, "is_file_closed", fail)
    host, _, port = homes.namenode_rpc.rpartition(":")
    failing = encode_call(CLIENT_ID, 7, CLIENT, "isFileClosed", pb.IsFileClosedRequest(src="/"))
    splitter, replies = FrameSplitter(), dict[int, type[Reply]]()
    with socket.create_connection((host, int(port)), timeout=HANG_S) as connection:
        connection.sendall(BEGIN + ALICE + failing + INFO)
        while len(replies) < 2:
            data = connection.recv(65_536)
            assert data, f"it ended behind {replies}"
            splitter.receive(data)
            while (frame := splitter.next_frame()) is not None:
                reply = parse_reply(frame)
                replies[reply.call_id] = type(reply)
    assert replies == {7: RpcRefusal, 0: RpcSuccess}


def test_a_connection_has_a_bounded_number_of_calls_under_way(
    homes: LightCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls above the limit wait unread; in the end all are answered."""
    under_way, most, asked = 0, 0, 3 * MAX_CALLS

    async def slow(*_asked: object) -> bool:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(100):
            await asyncio.sleep(0)
        under_way -= 1
        return True

    monkeypatch.setattr(NameNodeService, "read", slow)
    host, _, port = homes.namenode_rpc.rpartition(":")
    closed = encode_call(CLIENT_ID, 7, CLIENT, "isFileClosed", pb.IsFileClosedRequest(src="/"))
    splitter, replies = FrameSplitter(), 0
    with socket.create_connection((host, int(port)), timeout=HANG_S) as connection:
        connection.sendall(BEGIN + ALICE + closed * asked)
        while replies < asked:
            splitter.receive(connection.recv(65_536))
            while splitter.next_frame() is not None:
                replies += 1
    assert most == MAX_CALLS
