"""Cookies and delegation tokens as a NameNode makes them, except for the signature."""

import base64
import struct

from nncache.hadoop.kerberos.principal import parse_principal

FAR_MS = 1_800_000_000_000
"""A time after every `Date` of the tests."""


def cookie(
    user: str = "alice", *, kind: str = "kerberos", ends_ms: int = FAR_MS, signature: str = "c2ln"
) -> bytes:
    """Return a cookie, name and value, as a client sends it."""
    return f'hadoop.auth="u={user}&p={user}@TEST&t={kind}&e={ends_ms}&s={signature}"'.encode()


def token(
    owner: str = "alice",
    *,
    max_date_ms: int = FAR_MS,
    password: bytes = b"p" * 20,
    kind: str = "HDFS_DELEGATION_TOKEN",
    service: str = "",
    version: int = 0,
    more: bytes = b"",
    more_in_identifier: bytes = b"",
) -> str:
    """Return a token in its URL encoding."""
    identifier = bytes((version,)) + b"".join(
        (text(owner), text("renewer"), text(""), number(1), number(max_date_ms), number(7), number(2))
    )
    identifier += more_in_identifier
    data = blob(identifier) + blob(password) + text(kind) + text(service) + more
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def number(value: int) -> bytes:
    """Return a VLong (WritableUtils.writeVLong)."""
    if -112 <= value <= 127:
        return bytes((value & 0xFF,))
    magnitude = ~value if value < 0 else value
    size = (magnitude.bit_length() + 7) // 8
    return bytes(((-(size + (120 if value < 0 else 112))) & 0xFF,)) + magnitude.to_bytes(size)


def blob(data: bytes) -> bytes:
    """Return bytes after their length."""
    return number(len(data)) + data


def text(value: str) -> bytes:
    """Return a `Text`."""
    return blob(value.encode())


_AES256 = 18


def keytab_of(*principals: str) -> bytes:
    """Return the bytes of a keytab with one key for each principal."""
    return b"\x05\x02" + b"".join(map(_entry, principals))


def _entry(text: str) -> bytes:
    named = parse_principal(text)
    parts = [part for part in (named.service, named.host) if part]
    counted = b"".join(struct.pack(">H", len(part)) + part.encode() for part in (named.realm, *parts))
    entry = struct.pack(">H", len(parts)) + counted + struct.pack(">IIBHH", 1, 0, 1, _AES256, 32) + bytes(32)
    return struct.pack(">i", len(entry)) + entry
