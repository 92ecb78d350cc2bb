"""A request's namespace; a request for none or for several gets ViewFs's own errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.federation.routing import namespace_of, namespace_of_head
from nncache.hadoop.mounts import MountTable
from nncache.proxy.errors import (
    AcrossNamespacesError,
    ClientError,
    MountPointError,
    NotMountedError,
    UnknownAddressError,
)

MOUNTS = MountTable({"/data": "one", "/user/joe": "two", "/user/ann": "one"})
WITH_ROOT = MountTable({"/": "rest", "/data": "one", "/user/joe": "two"})
P = "/webhdfs/v1"


@pytest.mark.parametrize(
    ("target", "namespace"),
    [
        (f"{P}/data/x?op=GETFILESTATUS", "one"),
        (f"{P}/data?op=LISTSTATUS", "one"),
        (f"{P}//user//joe//x?op=OPEN", "two"),
        (f"{P}/us%65r/joe?op=OPEN", "two"),
        (f"{P}/user%2Fjoe/x?op=OPEN", "two"),
        (f"http://proxy:1{P}/user/joe?op=OPEN", "two"),
        (f"{P}/data/x?op=GETFILESTATUS&destination=/user/joe", "one"),  # no read has other paths
        (f"{P}/.reserved/raw/user/joe/x?op=OPEN", "two"),
    ],
)
def test_a_read_goes_where_its_path_is(target: str, namespace: str) -> None:
    """The rule holds for every spelling."""
    assert namespace_of(MOUNTS, "GET", target) == namespace
    assert namespace_of(WITH_ROOT, "GET", target) == namespace


def test_what_is_about_no_path_goes_to_the_root() -> None:
    """Requests for tokens and home directories have the path /, and /.reserved belongs to the root."""
    for query in ("op=GETDELEGATIONTOKEN", "op=GETHOMEDIRECTORY", "op=LISTSTATUS"):
        assert namespace_of(WITH_ROOT, "GET", f"{P}/?{query}") == "rest"
    assert namespace_of(WITH_ROOT, "GET", f"{P}/user?op=LISTSTATUS") == "rest"
    assert namespace_of(WITH_ROOT, "GET", f"{P}/.reserved/.inodes/1?op=OPEN") == "rest"
    assert namespace_of(WITH_ROOT, "PUT", f"{P}/?op=CANCELDELEGATIONTOKEN&token=x") == "rest"
    assert namespace_of(WITH_ROOT, "GET", f"{P}?op=GETFILESTATUS") == "rest"


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (f"{P}/other?op=OPEN", NotMountedError),
        (f"{P}/user/bob?op=OPEN", NotMountedError),
        (f"{P}/?op=LISTSTATUS", MountPointError),
        (f"{P}/user?op=LISTSTATUS", MountPointError),
        (f"{P}/.reserved/raw/user?op=LISTSTATUS", MountPointError),
        (f"{P}/.reserved/raw/other?op=LISTSTATUS", NotMountedError),
        (f"{P}/data/../user/joe?op=OPEN", ClientError),
        (f"{P}/data/%2e%2e/x?op=OPEN", ClientError),
        (f"{P}/data/%zz?op=OPEN", ClientError),
        (f"{P}/data/x#?op=OPEN", ClientError),
        (f"{P}data/x?op=OPEN", ClientError),
        ("/jmx", UnknownAddressError),
        (f"{P}/../../jmx", UnknownAddressError),
    ],
)
def test_what_lies_in_no_namespace_is_refused(target: str, error: type[ClientError]) -> None:
    """The error has ViewFs's class; a path that two parsers could read differently goes to no namespace."""
    with pytest.raises(error) as raised:
        namespace_of(MOUNTS, "GET", target)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("PUT", f"{P}/data/x?op=RENAME&destination=/data/y"),
        ("PUT", f"{P}/data/x?op=RENAME&destination=%2Fuser%2Fann%2Fy"),
        ("POST", f"{P}/data/x?op=CONCAT&sources=/data/y,/data/z"),
        ("DELETE", f"{P}/data/x?op=DELETE&recursive=true"),
        ("PUT", f"{P}/data?op=SETPERMISSION&permission=755"),
        ("PUT", f"{P}/data?op=MKDIRS"),
        ("PUT", f"{P}/data/x?op=SOMETHING"),
    ],
)
def test_a_write_within_a_namespace_is_its_own(method: str, target: str) -> None:
    """The rule holds between two mount points of one namespace."""
    assert namespace_of(MOUNTS, method, target) == "one"


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("PUT", f"{P}/data/x?op=RENAME&destination=/user/joe/y"),
        ("PUT", f"{P}/data/x?op=RENAME&destination=/data/y&destination=/user/joe/y"),
        ("PUT", f"{P}/data/x?op=RENAME&DESTINATION=/other/y"),
        ("POST", f"{P}/data/x?op=CONCAT&sources=/data/y,/user/joe/z"),
        ("PUT", f"{P}/data/x?op=CREATESYMLINK&destination=/user/joe/z"),
        ("PUT", f"{P}/data/x?op=SOMETHING&destination=/user/joe/z"),
    ],
)
def test_a_write_that_names_paths_of_several_is_refused(method: str, target: str) -> None:
    """The error is that of ViewFileSystem.verifyRenameStrategy."""
    with pytest.raises(
        AcrossNamespacesError, match="Renames across Mount points not supported: /data/x is of"
    ):
        namespace_of(MOUNTS, method, target)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("DELETE", f"{P}/data?op=DELETE&recursive=true"),
        ("DELETE", f"{P}/user?op=DELETE&recursive=true"),
        ("PUT", f"{P}/user/joe?op=RENAME&destination=/user/joe2"),
        ("PUT", f"{P}/data/x?op=RENAME&destination=/data"),
        ("PUT", f"{P}/data?op=SOMETHING"),
        ("DELETE", f"{P}/.reserved/raw/x?op=DELETE&sources=/user"),
        ("DELETE", f"{P}/.reserved/raw/user/joe?op=DELETE&recursive=true"),
        ("DELETE", f"{P}/.reserved/raw/user?op=DELETE&recursive=true"),
        ("PUT", f"{P}/.reserved/raw/data?op=RENAME&destination=/data/y"),
        ("PUT", f"{P}/data/x?op=RENAME&destination=/.reserved/raw/data"),
    ],
)
def test_mount_points_and_what_is_above_them_stay(method: str, target: str) -> None:
    """The error is that of readOnlyMountTable, also with a namespace mounted at the root."""
    with pytest.raises(MountPointError, match="is a mount point of this proxy, or above one"):
        namespace_of(WITH_ROOT, method, target)


@pytest.mark.parametrize(
    ("target", "reported"),
    [
        (f"{P}/data/x?op=RENAME&destination=y", "destination: not an absolute path"),
        (f"{P}/data/x?op=RENAME&destination=//user/joe", "destination: //user/joe: must be an absolute path"),
        (f"{P}/data/x?op=RENAME&destination=/data/../user/joe", "without dot segments"),
        (f"{P}/data/x?op=CONCAT&sources=/data/./y", "sources: /data/./y: must be"),
        (f"{P}/data/x?op=RENAME&destination=%zz", "the query cannot be read for certain"),
    ],
)
def test_other_paths_are_read_for_certain_or_refused(target: str, reported: str) -> None:
    """Otherwise a NameNode could read another namespace's path there."""
    with pytest.raises(ClientError, match=reported):
        namespace_of(MOUNTS, "PUT", target)


def head(target: str, method: str = "GET") -> bytes:
    """Return the head of a request."""
    return f"{method} {target} HTTP/1.1\r\nHost: nn\r\n\r\n".encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("request_head", "namespace"),
    [
        (head(f"{P}/data/x?op=GETFILESTATUS"), "one"),
        (head(f"{P}/user//joe?a=/data"), "two"),
        (head(f"{P}/user/joe"), "two"),
        (head(f"{P}/us%65r/joe/%C3%A9?op=OPEN"), "two"),
        (head(f"{P}/user/bob?op=OPEN"), "rest"),
        (head(f"{P}?op=OPEN"), "rest"),
        (head(f"{P}/data/x?op=OPEN", "PUT"), None),
        (head(f"http://nn{P}/data/x?op=OPEN"), None),
        (head(f"{P}/data/%2e%2e/x?op=OPEN"), None),
        (head(f"{P}/data/%zz?op=OPEN"), None),
        (head(f"{P}/data/{{x}}?op=OPEN"), None),
        (head(f"{P}2/data"), None),
        (head(f"{P}/data?#"), None),
        (b"GET /webhdfs/v1/data", None),
        (b"GET /webhdfs/v1/data/\xff?op=OPEN HTTP/1.1\r\n", None),
    ],
)
def test_a_head_is_read_by_its_bytes(request_head: bytes, namespace: str | None) -> None:
    """A head that is not plain takes the ordinary path."""
    assert namespace_of_head(WITH_ROOT, request_head) == namespace


PARTS = st.sampled_from(
    [
        "/",
        "data",
        "user",
        "joe",
        "%2F",
        "%6a",
        ".",
        "..",
        "%2e",
        "x",
        "%zz",
        "?",
        "&",
        "#",
        "{",
        "é",
        " ",
        ";",
    ]
)


@given(st.lists(PARTS, max_size=8).map("".join))
def test_the_quick_reader_never_differs_from_the_ordinary_one(spelled: str) -> None:
    """Otherwise an entry of one namespace could answer for another's path."""
    target = f"{P}/{spelled}".partition(" ")[0]
    for mounts in (MOUNTS, WITH_ROOT):
        quick = namespace_of_head(mounts, head(target))
        if quick is not None:
            assert namespace_of(mounts, "GET", target) == quick
