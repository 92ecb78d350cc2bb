"""The one table of WebHDFS operations.

Source: `GetOpParam`, `PutOpParam`, `PostOpParam`, `DeleteOpParam` of Hadoop 3.4.1 and 3.5.0, whose names are the same.
An unknown operation is forwarded too; `nncache.hadoop.effects` then assumes the worst.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class Effect(Enum):
    """The statuses that an operation makes stale; `nncache.hadoop.effects` has the details."""

    NOTHING = auto()
    TOUCHES = auto()  # the path's own status
    APPEARS = auto()  # the path is created or replaced
    VANISHES = auto()  # the path is removed with all below
    MOVES = auto()  # the path moves to `destination`
    CONCATENATES = auto()  # `sources` are appended to the path and removed
    CHANGES_ACCESS = auto()  # the right to reach the path and all below
    SETS_XATTR = auto()  # nothing, or a whole subtree, depending on the attribute's name
    REWRITES_SUBTREE = auto()  # HDFS announces it by no event, or only by one at the top


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table."""

    name: str
    method: str
    effect: Effect = Effect.NOTHING
    makes_ancestors: bool = False  # may create missing directories above the path
    # After a redirect, the client makes the change through a DataNode, bypassing the proxy.
    two_step: bool = False


def _rows(method: str, effect: Effect, *names: str) -> tuple[Operation, ...]:
    return tuple(Operation(name, method, effect) for name in names)


OPERATIONS: Final[tuple[Operation, ...]] = (
    *_rows(
        "GET", Effect.NOTHING,
        "GETFILESTATUS", "LISTSTATUS", "LISTSTATUS_BATCH", "GETCONTENTSUMMARY", "GETQUOTAUSAGE", "GETHOMEDIRECTORY",
        "GETACLSTATUS", "GETXATTRS", "LISTXATTRS", "GETTRASHROOT", "GETTRASHROOTS", "GETALLSTORAGEPOLICY",
        "GETSTORAGEPOLICY", "GETECPOLICY", "GETECPOLICIES", "GETECCODECS", "CHECKACCESS", "GETSERVERDEFAULTS",
        "GETSNAPSHOTDIFF", "GETSNAPSHOTDIFFLISTING", "GETSNAPSHOTTABLEDIRECTORYLIST", "GETSNAPSHOTLIST",
        "GETLINKTARGET", "GETFILELINKSTATUS", "GETSTATUS", "GETDELEGATIONTOKEN",
    ),
    # Reads that set the access time if it is older than dfs.namenode.accesstime.precision.
    *_rows("GET", Effect.TOUCHES, "OPEN", "GETFILECHECKSUM", "GET_BLOCK_LOCATIONS", "GETFILEBLOCKLOCATIONS"),
    Operation("CREATE", "PUT", Effect.APPEARS, makes_ancestors=True, two_step=True),
    Operation("MKDIRS", "PUT", Effect.APPEARS, makes_ancestors=True),
    Operation("CREATESYMLINK", "PUT", Effect.APPEARS, makes_ancestors=True),
    *_rows("PUT", Effect.MOVES, "RENAME"),
    *_rows("PUT", Effect.TOUCHES, "SETREPLICATION", "SETTIMES"),
    *_rows(
        "PUT", Effect.CHANGES_ACCESS,
        "SETPERMISSION", "SETOWNER", "SETACL", "MODIFYACLENTRIES", "REMOVEACLENTRIES", "REMOVEDEFAULTACL", "REMOVEACL",
    ),
    *_rows("PUT", Effect.SETS_XATTR, "SETXATTR", "REMOVEXATTR"),
    *_rows(
        "PUT", Effect.REWRITES_SUBTREE,
        "SETSTORAGEPOLICY", "SATISFYSTORAGEPOLICY", "SETECPOLICY", "SETQUOTA", "SETQUOTABYSTORAGETYPE",
        "ALLOWSNAPSHOT", "DISALLOWSNAPSHOT", "CREATESNAPSHOT", "RENAMESNAPSHOT",
    ),
    # These concern the cluster or a token; their path has no meaning.
    *_rows("PUT", Effect.NOTHING, "ENABLEECPOLICY", "DISABLEECPOLICY", "RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN"),
    # Its first step sets the access time, as a read does.
    Operation("APPEND", "POST", Effect.TOUCHES, two_step=True),
    *_rows("POST", Effect.TOUCHES, "TRUNCATE"),
    *_rows("POST", Effect.CONCATENATES, "CONCAT"),
    *_rows("POST", Effect.REWRITES_SUBTREE, "UNSETECPOLICY", "UNSETSTORAGEPOLICY"),
    *_rows("DELETE", Effect.VANISHES, "DELETE"),
    *_rows("DELETE", Effect.REWRITES_SUBTREE, "DELETESNAPSHOT"),
)  # fmt: skip

_BY_METHOD_AND_NAME: Final = {(row.method, row.name): row for row in OPERATIONS}


def operation(method: str, op_value: str) -> Operation | None:
    """Return the operation of an upper-case method and an `op=` value in any letter case; HEAD is a GET.

    Java's `toUpperCase` turns some non-ASCII letters into ASCII ones, and so does `str.upper`.
    """
    return _BY_METHOD_AND_NAME.get(("GET" if method == "HEAD" else method, op_value.upper()))
