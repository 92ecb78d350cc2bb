"""Keytabs without a KDC: of any principals, with a key that is none of theirs.

Format: MIT krb5, doc/formats/keytab_file_format, version 2.
"""

import struct

from nncache.hadoop.kerberos.principal import parse_principal

_AES256 = 18


def keytab_of(*principals: str) -> bytes:
    """Return the bytes of a keytab that holds one key of each."""
    return b"\x05\x02" + b"".join(map(_entry, principals))


def _entry(text: str) -> bytes:
    named = parse_principal(text)
    parts = [part for part in (named.service, named.host) if part]
    counted = b"".join(struct.pack(">H", len(part)) + part.encode() for part in (named.realm, *parts))
    entry = struct.pack(">H", len(parts)) + counted + struct.pack(">IIBHH", 1, 0, 1, _AES256, 32) + bytes(32)
    return struct.pack(">i", len(entry)) + entry
