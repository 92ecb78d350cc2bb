"""The names that HDFS accepts for users.

A NameNode's own configuration decides which names it accepts (`dfs.webhdfs.user.provider.user.pattern`, HDFS-4983):
leading digits, `@`, a blank, a backslash. No configuration can allow the names refused here: a user name must be valid
as a file name (DFSUtil.isValidNameForComponent, `dfs.namenode.fs-limits.max-component-length`; Hadoop 3.4.1 and 3.5.0).
"""

import re
from typing import Final

from nncache.hadoop.paths import InvalidPathError, percent_decode

MAX_LENGTH: Final = 255
"""In bytes of UTF-8."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SPELLED: Final = re.compile(r"[A-Za-z0-9._~$@/:%+!*'(),-]+")
"""Escapes, and characters that both releases read literally in a query."""


def is_user_name(name: str) -> bool:
    """Whether HDFS may have a user of this name: it must be valid as a file name."""
    return _may_be_claimed(name) and name not in {".", ".."} and not ("/" in name or ":" in name)


def read_claimed_user(spelled: str) -> str | None:
    """Parse the value of `user.name` or `doas` in a query; None unless both releases read the same name.

    Percent escapes are decoded once, and `+` is a blank (measured on 3.4.1 and 3.5.0). A slash is accepted, as in the
    principal that some clients send: the NameNode decides about it.
    """
    if not _SPELLED.fullmatch(spelled):
        return None
    try:
        name = percent_decode(spelled.replace("+", " "))
    except InvalidPathError:
        return None
    return name if _may_be_claimed(name) else None


def _may_be_claimed(name: str) -> bool:
    return bool(name) and not _CONTROL.search(name) and len(name.encode()) <= MAX_LENGTH
