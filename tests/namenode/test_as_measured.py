"""Answers that were measured at Hadoop 3.5.0, where a rule of ours was another one."""

import re

import pytest

from nncache import LightCluster
from tests.namenode.asking import call

Call = tuple[str, str, str, dict[str, str | int]]
"""Method, path, operation, parameters; `INODE/x` is a path by the inode of /x."""

MEASURED: dict[str, tuple[tuple[Call, ...], int, str]] = {
    "what is moved by its inode keeps its name": (
        (("PUT", "INODE/f", "RENAME", {"destination": "/d"}), ("GET", "/d/f", "GETFILESTATUS", {})),
        200,
        '"length":1500',
    ),
    "what a destination leads through is resolved": (
        (("PUT", "/f", "RENAME", {"destination": "/./d/../x"}), ("GET", "/x", "GETFILESTATUS", {})),
        200,
        '"length":1500',
    ),
    "a destination may name a host": (
        (("PUT", "/f", "RENAME", {"destination": "//d/x"}), ("GET", "/x", "GETFILESTATUS", {})),
        200,
        '"length":1500',
    ),
    "a destination above the root is no path": (
        (("PUT", "/f", "RENAME", {"destination": "/d/../../x"}),),
        400,
        "Invalid path name",
    ),
    "a name may begin as the reserved one": (
        (("PUT", "/.reservedx", "CREATE", {}), ("GET", "/.reservedx", "GETFILESTATUS", {})),
        200,
        '"FILE"',
    ),
    "a DataNode cannot make each exception of a NameNode": (
        (("PUT", "/.snapshot", "CREATE", {}),),
        403,
        '"exception":"RemoteException"',
    ),
    "a replication that is too large names the client": (
        (("PUT", "/g", "CREATE", {"replication": 513}),),
        403,
        "for /g, clientName=127.0.0.1",
    ),
    "no files are joined by their inodes": (
        (("POST", "/f", "CONCAT", {"sources": "INODE/e"}),),
        403,
        "doesn't support .reserved relative path",
    ),
    "a relative source is an assertion's error": (
        (("POST", "/f", "CONCAT", {"sources": "e"}),),
        403,
        "java.lang.AssertionError: Absolute path required, but got 'e'",
    ),
    "the target is looked at before a relative source": (
        (("POST", "/none", "CONCAT", {"sources": "e"}),),
        404,
        "File does not exist: /none",
    ),
    "a source is looked at before a relative one": (
        (("POST", "/f", "CONCAT", {"sources": "/none,e"}),),
        404,
        "File does not exist: /none",
    ),
    "commas behind the sources name none": ((("POST", "/f", "CONCAT", {"sources": "/e,,"}),), 200, ""),
    "commas alone are no sources": ((("POST", "/f", "CONCAT", {"sources": ",,"}),), 400, "No sources given"),
    "what is joined takes no more than before": (
        (("PUT", "/", "SETQUOTA", {"storagespacequota": 1}), ("POST", "/f", "CONCAT", {"sources": "/e"})),
        200,
        "",
    ),
    "a block that is cut counts as a full one": (
        (
            ("PUT", "/", "SETQUOTA", {"storagespacequota": 1_700}),
            ("POST", "/f", "TRUNCATE", {"newlength": 1_300}),
        ),
        403,
        "DSQuotaExceededException",
    ),
    "a quota has a range": (
        (("PUT", "/d", "SETQUOTA", {"namespacequota": -2}),),
        400,
        "Invalid parameter range: namespacequota = -2 < -1",
    ),
    "directories above get the mode as it was asked for": (
        (
            ("PUT", "/d", "MODIFYACLENTRIES", {"aclspec": "default:user::rwx"}),
            ("PUT", "/d/a/b", "MKDIRS", {"permission": "555", "unmaskedpermission": "1555"}),
            ("GET", "/d/a", "GETFILESTATUS", {}),
        ),
        200,
        '"permission":"1555"',
    ),
    "an entry that is given twice is changed once": (
        (
            ("PUT", "/d", "MODIFYACLENTRIES", {"aclspec": "user:bob:rwx"}),
            ("PUT", "/d", "MODIFYACLENTRIES", {"aclspec": "user:bob:r-x,user:bob:r--"}),
            ("GET", "/d", "GETACLSTATUS", {}),
        ),
        200,
        '"user:bob:r-x"',
    ),
    "an entry that is added twice is refused": (
        (("PUT", "/d", "MODIFYACLENTRIES", {"aclspec": "user:bob:r-x,user:bob:r--"}),),
        403,
        "multiple entries with same scope, type and name",
    ),
    "a value has hexadecimal digits": (
        (("PUT", "/f", "SETXATTR", {"xattr.name": "user.a", "flag": "CREATE", "xattr.value": "0x1Z"}),),
        403,
        "DecoderException: Illegal hexadecimal character Z at index 1",
    ),
    "a value has pairs of digits": (
        (("PUT", "/f", "SETXATTR", {"xattr.name": "user.a", "flag": "CREATE", "xattr.value": "0x123"}),),
        403,
        "DecoderException: Odd number of characters.",
    ),
    "a value in base64 needs neither padding nor one alphabet": (
        (
            ("PUT", "/f", "SETXATTR", {"xattr.name": "user.a", "flag": "CREATE", "xattr.value": "0s-_ Q"}),
            ("GET", "/f", "GETXATTRS", {"encoding": "HEX"}),
        ),
        200,
        '"0xfbf4"',
    ),
    "a flag overwrites, as createFile of Java's API asks": (
        (
            ("PUT", "/f", "CREATE", {"createflag": "CREATE,OVERWRITE", "createparent": "false"}),
            ("GET", "/f", "GETFILESTATUS", {}),
        ),
        200,
        '"length":0',
    ),
    "a flag that only overwrites makes no file": (
        (("PUT", "/none", "CREATE", {"createflag": "OVERWRITE"}),),
        404,
        "Can't overwrite non-existent /none",
    ),
    "no policy of erasure coding is that of a path that is missing": (
        (("GET", "/none", "GETECPOLICY", {}),),
        404,
        "Path not found: /none",
    ),
    "a range of no byte is in a block": (
        (("GET", "/f", "GETFILEBLOCKLOCATIONS", {"offset": 1024, "length": 0}),),
        200,
        '"offset":1024',
    ),
    "a slash at the end is no level": ((("PUT", f"/d{'/x' * 999}/", "MKDIRS", {}),), 200, "true"),
    "a file that is there is not made lazily persistent": (
        (("PUT", "/f", "SETSTORAGEPOLICY", {"storagepolicy": "lazy_persist"}),),
        400,
        "cannot be set after file creation",
    ),
    "permissions of an entry have one order": (
        (("PUT", "/f", "MODIFYACLENTRIES", {"aclspec": "user:bob:xwr"}),),
        400,
        "Invalid permission in <aclSpec> : user:bob:xwr",
    ),
    "a checksum names the chunks of the first block": (
        (("POST", "/e", "CONCAT", {"sources": "/f"}), ("GET", "/e", "GETFILECHECKSUM", {})),
        200,
        '"MD5-of-1MD5-of-512CRC32"',
    ),
    "a directory's time does not go back": (
        (
            ("PUT", "/d", "SETTIMES", {"modificationtime": 4_102_444_800_000}),
            ("PUT", "/d/a", "MKDIRS", {}),
            ("PUT", "/d/a", "RENAME", {"destination": "/d/b"}),
            ("DELETE", "/d/b", "DELETE", {}),
            ("GET", "/d", "GETFILESTATUS", {}),
        ),
        200,
        '"modificationTime":4102444800000',
    ),
}


@pytest.mark.parametrize(("calls", "status", "text"), MEASURED.values(), ids=MEASURED.keys())
def test_an_answer_is_hdfss_own(calls: tuple[Call, ...], status: int, text: str) -> None:
    """After these calls the last one is answered so; there are a file of two blocks, another one and a directory."""
    with LightCluster(superuser="root") as cluster:
        http = cluster.namenode_http
        call(http, "PUT", "/f", "CREATE", "root", bytes(1500), blocksize=1024)
        call(http, "PUT", "/e", "CREATE", "root", b"e", blocksize=1024)
        call(http, "PUT", "/d", "MKDIRS", "root")

        def named(text: str | int) -> str:
            def by_inode(path: re.Match[str]) -> str:
                found = call(http, "GET", path[1], "GETFILESTATUS").json
                return f"/.reserved/.inodes/{found['FileStatus']['fileId']}"

            return re.sub("INODE(/[a-z])", by_inode, str(text))

        replies = [
            call(
                http,
                method,
                named(path),
                op,
                "root",
                b"",
                **{key: named(each) for key, each in given.items()},
            )
            for method, path, op, given in calls
        ]
    reply = replies[-1]
    assert (reply.status, text in reply.body.decode()) == (status, True), reply.body
