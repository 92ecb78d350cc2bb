"""What HDFS takes for the name of a user.

Which names a NameNode takes is for its own configuration to say (`dfs.webhdfs.user.provider.user.pattern`, HDFS-4983):
digits first, `@`, a blank, a backslash. Here stands what no configuration can allow: a user's name may be that of a
file (DFSUtil.isValidNameForComponent, `dfs.namenode.fs-limits.max-component-length`; Hadoop 3.4.1 and 3.5.0).
"""

import re
from typing import Final

from nncache.hadoop.paths import InvalidPathError, percent_decode

MAX_LENGTH: Final = 255
"""Bytes of UTF-8."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SPELLED: Final = re.compile(r"[A-Za-z0-9._~$@/:%+!*'(),-]+")
"""What stands for itself in a query to both releases, and escapes."""


def is_user_name(name: str) -> bool:
    """Tell whether a user of HDFS may be called so: it can be the name of a file."""
    return _may_be_claimed(name) and name not in {".", ".."} and not ("/" in name or ":" in name)


def read_claimed_user(spelled: str) -> str | None:
    """Read the value of `user.name` or `doas` in a query; None unless both releases read the same name.

    Percent escapes are decoded once, and `+` is a blank (measured on 3.4.1 and 3.5.0). A slash is taken, as in the
    principal that some clients send: the NameNode says what that is worth.
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
