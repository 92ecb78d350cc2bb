"""File statuses and rendered 404 bodies."""

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.filestatus import (
    FileStatus,
    FileType,
    parse_file_status,
    render_missing,
)

# Replies of a real NameNode.
FILE = (
    b'{"FileStatus":{"accessTime":1795298171446,"blockSize":1048576,"childrenNum":0,"fileId":16716,'
    b'"group":"supergroup","length":1000,"modificationTime":1795298171489,"owner":"root","pathSuffix":"",'
    b'"permission":"644","replication":1,"storagePolicy":0,"type":"FILE"}}'
)
RICH_DIRECTORY = (
    b'{"FileStatus":{"accessTime":0,"aclBit":true,"blockSize":0,"childrenNum":2,"ecBit":true,"ecPolicy":"RS-6-3-1024k",'
    b'"ecPolicyObj":{"name":"RS-6-3-1024k","cellSize":1048576,"numDataUnits":6,"numParityUnits":3,"codecName":"rs",'
    b'"id":1,"extraOptions":{}},"encBit":true,"fileId":16385,"group":"g","length":0,"modificationTime":5,"owner":"o",'
    b'"pathSuffix":"","permission":"1777","replication":0,"snapshotEnabled":true,"storagePolicy":2,"type":"DIRECTORY",'
    b'"aKeyOfTomorrow":[1]}}'
)


def test_every_key_of_a_status_is_read() -> None:
    """A NameNode omits keys with default values; unknown keys and the details of a policy are ignored."""
    assert parse_file_status(FILE) == FileStatus(
        type=FileType.FILE, path_suffix="", length=1000, owner="root", group="supergroup", permission="644",
        access_time=1795298171446, modification_time=1795298171489, block_size=1048576, replication=1, file_id=16716,
        children_num=0, storage_policy=0,
    )  # fmt: skip
    status = parse_file_status(RICH_DIRECTORY)
    assert status.type is FileType.DIRECTORY
    assert (status.acl_bit, status.enc_bit, status.ec_bit, status.snapshot_enabled) == (True,) * 4
    assert status.ec_policy == "RS-6-3-1024k"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{}", b'{"FileStatus":{}}', FILE[:-1], FILE + b"x",
        FILE.replace(b'"FILE"', b'"DOOR"'), FILE.replace(b"1000", b'"1000"'), FILE.replace(b"root", b"\xff"),
        b'{"RemoteException":{"exception":"x"}}', b"<html>", b'{"x":' + b"[" * 5000,
    ],
)  # fmt: skip
def test_anything_else_is_malformed(body: bytes) -> None:
    """No part of an incomplete or malformed body is trusted."""
    with pytest.raises(MalformedReplyError):
        parse_file_status(body)


STATUSES = st.builds(
    FileStatus, type=st.sampled_from(FileType), path_suffix=st.just(""), owner=st.text(), group=st.text(),
    length=st.integers(0, 2**63 - 1), permission=st.just("755"), acl_bit=st.booleans(), symlink=st.none() | st.text(),
    access_time=st.integers(0, 2**53), modification_time=st.integers(0, 2**53), block_size=st.integers(0, 2**40),
    replication=st.integers(0, 512), file_id=st.integers(0, 2**62), children_num=st.integers(0, 2**31),
    storage_policy=st.integers(0, 15), ec_policy=st.none(),
)  # fmt: skip


@given(STATUSES)
def test_a_status_survives_the_wire(status: FileStatus) -> None:
    """Encoding under the NameNode's key names and parsing returns the same value."""
    assert parse_file_status(msgspec.json.encode({"FileStatus": status})) == status


@pytest.mark.parametrize(
    ("as_requested", "quoted"),
    [
        ("/w/none", "/w/none"),
        ("//w//none//", "//w//none//"),
        ('/w/"x\\', '/w/\\"x\\\\'),
        ("/w/\n\t\r\b\f", "/w/\\n\\t\\r\\b\\f"),
        ("/w/\x01\x1f", "/w/\\u0001\\u001F"),
        ("/w/\x7f\x85\u2028/é😀<>&'", "/w/\x7f\x85\u2028/é😀<>&'"),
    ],
)
def test_a_404_has_the_bytes_of_the_namenode(as_requested: str, quoted: str) -> None:
    """Both releases escape only quotes, backslashes and control characters; hexadecimal digits are upper-case."""
    assert (
        render_missing(as_requested)
        == (
            '{"RemoteException":{"exception":"FileNotFoundException","javaClassName":"java.io.FileNotFoundException",'
            f'"message":"File does not exist: {quoted}"}}}}'
        ).encode()
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_404_is_json_that_quotes_the_path(as_requested: str) -> None:
    """A JSON reader gets any path back; and only characters that JSON forbids are escaped."""
    body = render_missing(as_requested)
    message = json.loads(body)["RemoteException"]["message"]
    assert message == "File does not exist: " + as_requested
    twin = json.dumps(message, ensure_ascii=False)  # which writes hexadecimal in lower case
    twin = re.sub(r"\\(u[0-9a-f]{4}|.)", lambda escape: escape[0][:2] + escape[0][2:].upper(), twin)
    assert body.endswith(twin.encode() + b"}}")
