"""The changes of the stories: the state before, the change itself, and the paths that are watched."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.real.proxied_cluster import CallTarget, ProxiedCluster

Act = Callable[[ProxiedCluster, str, CallTarget], None]


@dataclass(frozen=True, slots=True)
class Change:
    """A kind of change below a separate directory.

    Attributes:
        before: creates the initial state, directly at the NameNode.
        act: makes the change.
        watched: the paths below the directory whose status is read before and after.
        goes_on: whether the NameNode makes another change by itself after its reply.
    """

    name: str
    before: Act
    act: Act
    watched: tuple[str, ...]
    goes_on: bool = False


def nothing(proxied_cluster: ProxiedCluster, root: str, where: CallTarget) -> None:
    """Create nothing."""


def directories(*names: str) -> Act:
    """Make directories of alice."""

    def make(proxied_cluster: ProxiedCluster, root: str, where: CallTarget) -> None:
        for name in names:
            proxied_cluster.mkdirs(f"{root}/{name}", "alice")

    return make


def files(*names: str, length: int = 1000) -> Act:
    """Write files of alice, in directories of hers."""

    def make(proxied_cluster: ProxiedCluster, root: str, where: CallTarget) -> None:
        for name in names:
            if "/" in name:
                proxied_cluster.mkdirs(f"{root}/{name.rsplit('/', 1)[0]}", "alice")
            proxied_cluster.put(CallTarget.NAMENODE, f"{root}/{name}", b"x" * length, "alice")

    return make


def write(name: str, op: str = "CREATE", user: str | None = "alice", **parameters: str) -> Act:
    """Write or append to a file in two steps, the second at the DataNode."""

    def act(proxied_cluster: ProxiedCluster, root: str, where: CallTarget) -> None:
        path = f"{root}/{name}"
        proxied_cluster.must(
            proxied_cluster.write(where, path, b"new" * 100, user, op=op, parameters=parameters)
        )

    return act


def call(method: str, op: str, name: str, user: str | None = "alice", **parameters: str) -> Act:
    """Make a call of one step; `{root}` in a parameter is replaced by the story's directory."""

    def act(proxied_cluster: ProxiedCluster, root: str, where: CallTarget) -> None:
        filled = {key: value.replace("{root}", root) for key, value in parameters.items()}
        proxied_cluster.do(where, method, op, f"{root}/{name}".rstrip("/") or "/", user, **filled)

    return act


def both(first: Act, then: Act) -> Act:
    """Do both in this order, directly at the NameNode."""

    def make(proxied_cluster: ProxiedCluster, root: str, where: CallTarget) -> None:
        for act in (first, then):
            act(proxied_cluster, root, CallTarget.NAMENODE)

    return make


LOCKED = both(files("d/e/f"), call("PUT", "SETPERMISSION", "d", permission="700"))

CHANGES = (
    Change("a missing file is created", directories("d"), write("d/f"), ("d/f", "d", "d/other")),
    Change(
        "a file is created below missing directories", nothing, write("d/e/f"), ("d", "d/e", "d/e/f", "d/x")
    ),
    Change("a file is overwritten", files("d/f"), write("d/f", overwrite="true"), ("d/f", "d")),
    Change("a file grows by an append", files("d/f"), write("d/f", op="APPEND"), ("d/f", "d")),
    Change(
        "a file is cut to nothing", files("d/f"), call("POST", "TRUNCATE", "d/f", newlength="0"), ("d/f", "d")
    ),
    Change(
        "a file is cut inside a block",
        files("d/f"),
        call("POST", "TRUNCATE", "d/f", newlength="10"),
        ("d/f",),
        goes_on=True,  # the last block is recovered, then a CLOSE follows
    ),
    Change(
        "files are concatenated",
        files("d/f", "d/g", "d/h"),
        call("POST", "CONCAT", "d/f", sources="{root}/d/g,{root}/d/h"),
        ("d/f", "d/g", "d/h", "d"),
    ),
    Change("a directory is made", directories("d"), call("PUT", "MKDIRS", "d/e"), ("d/e", "d", "d/e/f")),
    Change(
        "directories are made at once",
        nothing,
        call("PUT", "MKDIRS", "d/e/f"),
        ("d", "d/e", "d/e/f", "d/e/g"),
    ),
    Change(
        "a file is renamed",
        files("d/f"),
        call("PUT", "RENAME", "d/f", destination="{root}/d/g"),
        ("d/f", "d/g", "d"),
    ),
    Change(
        "a file is renamed into a directory",
        both(files("d/f"), directories("e")),
        call("PUT", "RENAME", "d/f", destination="{root}/e"),
        ("d/f", "d", "e", "e/f"),
    ),
    Change(
        "a file's directory is renamed",
        files("d/e/f"),
        call("PUT", "RENAME", "d/e", destination="{root}/d/z"),
        ("d/e", "d/e/f", "d/z", "d/z/f", "d"),
    ),
    Change(
        "an ancestor is renamed",
        files("d/e/f"),
        call("PUT", "RENAME", "d", destination="{root}/z"),
        ("d", "d/e", "d/e/f", "z", "z/e", "z/e/f"),
    ),
    Change(
        "a rename takes another file's place",
        files("d/f", "d/g"),
        call("PUT", "RENAME", "d/f", destination="{root}/d/g", renameoptions="OVERWRITE"),
        ("d/f", "d/g", "d"),
    ),
    Change("a file is deleted", files("d/f", "d/g"), call("DELETE", "DELETE", "d/f"), ("d/f", "d/g", "d")),
    Change(
        "an ancestor is deleted",
        files("d/e/f"),
        call("DELETE", "DELETE", "d", recursive="true"),
        ("d", "d/e", "d/e/f", "d/e/g"),
    ),
    Change(
        "a file's mode is changed",
        files("d/f"),
        call("PUT", "SETPERMISSION", "d/f", permission="600"),
        ("d/f", "d"),
    ),
    Change(
        "an ancestor is locked",
        files("d/e/f"),
        call("PUT", "SETPERMISSION", "d", permission="700"),
        ("d", "d/e", "d/e/f", "d/e/missing"),
    ),
    Change(
        "an ancestor is opened",
        LOCKED,
        call("PUT", "SETPERMISSION", "d", permission="755"),
        ("d", "d/e", "d/e/f", "d/e/missing"),
    ),
    Change(
        "an ancestor changes hands",
        LOCKED,
        call("PUT", "SETOWNER", "d", None, owner="bob"),
        ("d", "d/e", "d/e/f"),
    ),
    Change(
        "an ACL shuts one user out of an ancestor",
        files("d/e/f"),
        call("PUT", "MODIFYACLENTRIES", "d", aclspec="user:bob:---"),
        ("d", "d/e", "d/e/f", "d/e/missing"),
    ),
    Change(
        "an ACL is taken away",
        both(files("d/e/f"), call("PUT", "MODIFYACLENTRIES", "d", aclspec="user:bob:---")),
        call("PUT", "REMOVEACL", "d"),
        ("d", "d/e", "d/e/f"),
    ),
    Change(
        "replication is changed",
        files("d/f"),
        call("PUT", "SETREPLICATION", "d/f", replication="3"),
        ("d/f", "d"),
    ),
    Change(
        "times are set",
        files("d/f"),
        call("PUT", "SETTIMES", "d/f", modificationtime="1700000000000"),
        ("d/f", "d"),
    ),
    Change(
        "a directory becomes erasure coded",
        directories("d/e"),
        call("PUT", "SETECPOLICY", "d", None, ecpolicy="XOR-2-1-1024k"),
        ("d", "d/e"),
    ),
)
"""The changes that the facts list for GETFILESTATUS and that WebHDFS can make. HDFS has an event for each."""

UNANNOUNCED = (
    Change(
        "a storage policy is set",
        files("d/e/f"),
        call("PUT", "SETSTORAGEPOLICY", "d", None, storagepolicy="COLD"),
        ("d", "d/e", "d/e/f"),
    ),
    Change(
        "a directory may have snapshots", directories("d"), call("PUT", "ALLOWSNAPSHOT", "d", None), ("d",)
    ),
)
"""Changes without an event: visible immediately through the proxy, otherwise after `max_entry_age_s`."""
