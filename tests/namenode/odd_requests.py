"""Odd requests, each of which a NameNode answers in its own way.

`{d}` is a directory with f (alice's file of 5 bytes), e (her empty file) and s (a sub-directory with a file).
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

METHODS = ("GET", "PUT", "POST", "DELETE")
PATHS = (
    "{d}",
    "{d}/f",
    "{d}/none",
    "{d}/f/below",
    "//{d}//f",
    "{d}/f/",
    "{d}/./f",
    "{d}/../f",
    "{d}/a:b",
    "{d}/" + "n" * 256,
    "{d}/%01",
    "{d}/a%20b+c%25",
    "{d}/%e2%82%ac",
    "{d}/%f0%9f%98%80",
    "{d}%2Ff",
    "/none/none",
)
USERS = ("user.name=alice", "user.name=carol", "")
OPERATIONS = {
    "GET": (
        "GETFILESTATUS",
        "LISTSTATUS",
        "OPEN",
        "GETCONTENTSUMMARY",
        "GETQUOTAUSAGE",
        "GETACLSTATUS",
        "LISTXATTRS",
        "GETFILECHECKSUM",
        "GETFILEBLOCKLOCATIONS",
        "GETSTORAGEPOLICY",
        "GETHOMEDIRECTORY",
        "GETLINKTARGET",
        "CHECKACCESS&fsaction=r--",
        "GETXATTRS&encoding=text",
        "LISTSTATUS_BATCH",
        "GETTRASHROOT",
    ),
    "PUT": (
        "MKDIRS",
        "CREATE",
        "RENAME&destination={d}/moved",
        "RENAME&destination={d}/s&renameoptions=OVERWRITE",
        "SETOWNER&group=users",
        "SETPERMISSION&permission=755",
        "SETTIMES&modificationtime=5",
        "SETREPLICATION",
        "SETXATTR&xattr.name=user.a&flag=CREATE",
        "REMOVEXATTR&xattr.name=user.a",
        "MODIFYACLENTRIES&aclspec=user:bob:r--",
        "REMOVEACL",
        "REMOVEDEFAULTACL",
        "SETSTORAGEPOLICY&storagepolicy=HOT",
        "CREATESNAPSHOT",
    ),
    "POST": ("APPEND", "TRUNCATE&newlength=0", "CONCAT&sources={d}/e", "UNSETSTORAGEPOLICY"),
    "DELETE": ("DELETE", "DELETE&recursive=true", "DELETESNAPSHOT&snapshotname=x"),
}
QUERIES = (
    "",
    "op=",
    "op=null",
    "op=BOGUS",
    "OP=GETFILESTATUS",
    "op=getfilestatus",
    "op=GETFILESTATUS&op=MKDIRS",
    "op=MKDIRS",
    "op=DELETE",
    "op=APPEND",
    "op=GETFILESTATUS&offset=abc",
    "op=GETFILESTATUS&offset=-1",
    "op=GETFILESTATUS&length=-5",
    "op=GETFILESTATUS&length=99999999999999999999",
    "op=GETFILESTATUS&buffersize=0",
    "op=GETFILESTATUS&buffersize=x",
    "op=GETFILESTATUS&recursive=maybe",
    "op=GETFILESTATUS&permission=abc",
    "op=OPEN&noredirect=x",
    "op=OPEN&noredirect=TRUE",
    "op=OPEN&offset=",
    "op=OPEN&offset=5",
    "op=OPEN&offset=6",
    "op=OPEN&length=0",
    "op=OPEN&length=null",
    "op=GETXATTRS",
    "op=GETXATTRS&encoding=bogus",
    "op=GETXATTRS&encoding=text&xattr.name=user.none",
    "op=GETXATTRS&encoding=text&xattr.name=none",
    "op=CHECKACCESS",
    "op=CHECKACCESS&fsaction=x",
    "op=LISTSTATUS_BATCH&startAfter=f",
    "op=MKDIRS&permission=9",
    "op=MKDIRS&permission=22222",
    "op=MKDIRS&permission=-1",
    "op=MKDIRS&permission=abc",
    "op=CREATE&overwrite=x",
    "op=CREATE&replication=0",
    "op=CREATE&replication=70000",
    "op=CREATE&blocksize=0",
    "op=CREATE&createparent=no",
    "op=CREATE&createflag=bogus",
    "op=CREATE&noredirect=true&permission=640&blocksize=1024",
    "op=RENAME",
    "op=RENAME&destination=",
    "op=RENAME&destination=rel",
    "op=RENAME&destination=/&renameoptions=OVERWRITE",
    "op=RENAME&destination={d}/x&renameoptions=bogus",
    "op=RENAME&destination=/none/x",
    "op=RENAME&destination={d}/s/../none/x",
    "op=SETOWNER",
    "op=SETTIMES&accesstime=-2",
    "op=SETREPLICATION&replication=513",
    "op=SETXATTR",
    "op=SETXATTR&xattr.name=user.x",
    "op=SETXATTR&xattr.name=x&flag=CREATE",
    "op=SETXATTR&xattr.name=user.x&flag=bogus",
    "op=SETXATTR&xattr.name=user.x&flag=CREATE&xattr.value=0xZ",
    "op=SETACL",
    "op=SETACL&aclspec=bad",
    "op=SETACL&aclspec=user::rwx",
    "op=SETACL&aclspec=user:a:rwxx",
    "op=MODIFYACLENTRIES&aclspec=user:alice:",
    "op=REMOVEACLENTRIES&aclspec=user::",
    "op=REMOVEACLENTRIES&aclspec=user:bob:rwx",
    "op=SETSTORAGEPOLICY",
    "op=SETSTORAGEPOLICY&storagepolicy=X",
    "op=SETQUOTA&namespacequota=1",
    "op=SETQUOTA&namespacequota=x",
    "op=SETQUOTA&namespacequota=-2",
    "op=SATISFYSTORAGEPOLICY",
    "op=ALLOWSNAPSHOT",
    "op=CREATESYMLINK&destination=/x",
    "op=RENAMESNAPSHOT",
    "op=RENEWDELEGATIONTOKEN",
    "op=ENABLEECPOLICY",
    "op=CONCAT",
    "op=CONCAT&sources={d}/f",
    "op=CONCAT&sources={d}/none",
    "op=CONCAT&sources=/none/x",
    "op=CONCAT&sources=f",
    "op=CONCAT&sources={d}/none,,",
    "op=TRUNCATE",
    "op=TRUNCATE&newlength=-1",
    "op=TRUNCATE&newlength=9999",
    "op=DELETE&recursive=maybe",
    "op=DELETESNAPSHOT",
    "op=GETSNAPSHOTDIFF",
    "op=GETSNAPSHOTLIST",
    "op=GETSNAPSHOTTABLEDIRECTORYLIST",
    "op=GETTRASHROOTS",
    "op=GETECPOLICY",
    "op=GETALLSTORAGEPOLICY",
    "op=GETFILELINKSTATUS",
    "op=GETDELEGATIONTOKEN",
)
IDENTITIES = (
    "user.name=9bad",
    "user.name=a%20b",
    "user.name=alice&doas=bob",
    "doas=bob",
    "USER.NAME=alice",
    "user.name=bob&USER.NAME=alice",
    "user.name=alice&doas=alice",
    "DoAs=bob",
    "user.name=alice&delegation=zzz",
)


HEADERS = (
    ("Accept", "text/html, */*;q=0.1"), ("Accept-Encoding", "gzip"), ("Authorization", "Basic YWxpY2U6eA=="),
    ("Connection", "close"), ("Content-Type", "text/plain"), ("Cookie", "hadoop.auth=u=carol&p=carol&t=simple&e=1&s=x"),
    ("Expect", "100-continue"), ("If-Modified-Since", "Sat, 28 Nov 2026 00:00:00 GMT"), ("If-None-Match", "*"),
    ("Origin", "http://elsewhere.example.com"), ("Range", "bytes=0-1"), ("Referer", "http://elsewhere.example.com/"),
    ("X-Forwarded-For", "10.0.0.1"), ("X-HTTP-Method-Override", "DELETE"), ("X-XSRF-HEADER", ""), ("Via", "1.1 other"),
)  # fmt: skip
BODIES = (
    ("application/x-www-form-urlencoded", b"op=DELETE&user.name=root&recursive=true"),
    ("application/json", b'{"op": "DELETE"}'),
    ("application/octet-stream", bytes(range(256)) * 300),
    (
        "multipart/form-data; boundary=x",
        b"--x\r\nContent-Disposition: form-data; name=op\r\n\r\nDELETE\r\n--x--\r\n",
    ),
    ("text/plain", b"\0"),
)


class Odd(NamedTuple):
    """One request, to be sent as it is."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


def odd_requests(directory: str) -> Iterator[Odd]:
    """Yield the requests, for a directory with the content that the module describes."""
    for method in METHODS:
        for path, operation, user in product(PATHS, OPERATIONS[method], USERS[:2]):
            yield Odd(method, f"/webhdfs/v1{path}?op={operation}&{user}".replace("{d}", directory))
        for query, user in product(QUERIES, USERS):
            yield Odd(method, f"/webhdfs/v1{{d}}/f?{query}&{user}".replace("{d}", directory))
        for identity in IDENTITIES:
            for op in ("GETFILESTATUS", "GETHOMEDIRECTORY", "MKDIRS"):
                yield Odd(method, f"/webhdfs/v1{directory}?op={op}&{identity}")
        for header, operation in product(HEADERS, OPERATIONS[method][:6]):
            target = f"/webhdfs/v1{directory}/f?op={operation}&user.name=alice".replace("{d}", directory)
            yield Odd(method, target, (header,))
        for (kind, body), operation in product(
            BODIES, OPERATIONS[method][:4] if method in {"PUT", "POST"} else ()
        ):
            target = f"/webhdfs/v1{directory}/f?op={operation}&user.name=alice".replace("{d}", directory)
            yield Odd(method, target, (("Content-Type", kind),), body)
    for odd in ("HEAD",):
        yield Odd(odd, f"/webhdfs/v1{directory}/f?op=GETFILESTATUS")
    for elsewhere in ("/webhdfs/v2/x?op=GETFILESTATUS", "/WEBHDFS/V1/?op=GETFILESTATUS", "/nothing"):
        yield Odd("GET", elsewhere)
