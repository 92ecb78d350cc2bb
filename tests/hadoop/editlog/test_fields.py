"""nncache/hadoop/editlog/fields.py."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.editlog import fields
from nncache.hadoop.editlog.fields import UNREADABLE, Reader
from nncache.hadoop.events import AclKind, AclScope, FileAclEntry, XAttr, XAttrNamespace
from tests.hadoop.editlog.segments import short_text, utf

ACL_ENTRY = FileAclEntry(scope=AclScope.DEFAULT, kind=AclKind.GROUP, name="ü", permissions="r-x")

READ: list[tuple[Reader, bytes, tuple[Any, ...]]] = [
    (fields.string, b"\0\0", ("",)),
    (fields.string, utf("/grüß/日本"), ("/grüß/日本",)),
    (fields.string, b"\0\x06\xed\xa0\xbd\xed\xb8\x80", ("\U0001f600",)),  # as Hadoop 3.5.0 wrote an emoji
    (fields.string, b"\0\x04a\xc0\x80b", ("a\0b",)),
    (fields.octets, b"\0\x02\xff\x00", (b"\xff\x00",)),
    (fields.text, short_text("grüße"), ("grüße",)),
    (fields.text, b"\x8f\x80" + b"x" * 128, ("x" * 128,)),
    (fields.blocks, b"\0\0\0\x01" + struct.pack(">qqq", 5, 6, 7), (((5, 6, 7),),)),
    (fields.strings, b"\0\0\0\x02" + utf("/a") + utf("/b"), (("/a", "/b"),)),
    (fields.rename_options, b"\0\0\0\x02\x01\x02", (b"\x01\x02",)),
    (fields.acl, b"\0\0\0\x01\x6d" + utf("ü"), ((ACL_ENTRY,),)),
    (
        fields.acl,
        b"\0\0\0\x01\x17",
        ((FileAclEntry(scope=AclScope.ACCESS, kind=AclKind.MASK, name="", permissions="rwx"),),),
    ),
    (fields.xattrs, b"\0", ((),)),
    (
        fields.xattrs,
        b"\x09\x12\x07\x08\x03\x12\x01k\x1a\x00",
        ((XAttr(XAttrNamespace.SYSTEM, "k"),),),
    ),
    (
        fields.path_and_xattrs,
        b"\x0e\x0a\x02/a\x12\x08\x08\x00\x12\x01k\x1a\x01v",
        ("/a", (XAttr(XAttrNamespace.USER, "k", b"v"),)),
    ),
    (
        fields.path_and_acl,
        b"\x0f\x0a\x02/a\x12\x09\x08\x01\x10\x01\x18\x05\x22\x01g",
        (
            "/a",
            (FileAclEntry(scope=AclScope.DEFAULT, kind=AclKind.GROUP, name="g", permissions="r-x"),),
        ),
    ),
]


@pytest.mark.parametrize(("read", "body", "values"), READ)
def test_each_type_is_read(read: Reader, body: bytes, values: tuple[Any, ...]) -> None:
    """A field is read from any offset, and the bytes after it are left."""
    assert read(b"\xff" + body + b"\xff", 1) == (values, 1 + len(body))


@pytest.mark.parametrize(("read", "body"), [row[:2] for row in READ])
def test_a_body_that_ends_within_a_field_is_noticed(read: Reader, body: bytes) -> None:
    """Either an error is raised, or the returned end lies beyond the body."""
    for size in range(len(body)):
        try:
            _, end = read(body[:size], 0)
        except UNREADABLE:
            continue
        assert end > size


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (fields.string, b"\0\x03\xed\xa0\xbd"),  # half a pair of surrogates
        (fields.string, b"\0\x02\xff\xfe"),
        (fields.text, b"\x01\xff"),
        (fields.blocks, b"\xff\xff\xff\xff"),
        (fields.acl, b"\0\0\0\x01\x80"),
        (fields.xattrs, b"\x08\x12\x06\x08\x09\x12\x01k\x00"),  # a namespace to come
        (fields.path_and_acl, b"\x02\x0a\x00\x00"),
    ],
)
def test_what_is_no_such_field_is_refused(read: Reader, body: bytes) -> None:
    """It is an error, or the returned end differs from the body's."""
    try:
        _, end = read(body, 0)
    except UNREADABLE:
        return
    assert end != len(body)


def test_the_rest_is_left_out() -> None:
    """Any bytes are skipped to the end of the body."""
    assert fields.rest(b"/d \xff\xff", 3) == ((), 5)


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_all_text_comes_back(text: str) -> None:
    """Java encodes each UTF-16 unit separately."""
    assert fields.string(utf(text), 0) == ((text,), len(utf(text)))


@pytest.mark.parametrize(
    ("encoded", "length"),
    [(b"\0", 0), (b"\x7f", 127), (b"\x8f\x80", 128), (b"\x8e\x01\x00", 256), (b"\x8d\x01\x00\x00", 1 << 16)],
)
def test_lengths_of_text(encoded: bytes, length: int) -> None:
    """Lengths are those of WritableUtils.writeVInt."""
    body = encoded + b"x" * length
    assert fields.text(body, 0) == (("x" * length,), len(body))


@pytest.mark.parametrize("first", [b"\x90", b"\xff", b"\x87", b"\x80"])
def test_a_negative_length_of_text_is_refused(first: bytes) -> None:
    """The length may have one byte or more."""
    with pytest.raises(ValueError, match="negative"):
        fields.text(first + b"\0" * 9, 0)
