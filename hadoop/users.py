"""What HDFS takes for the name of a user. (hadoop/users.py)

Source: the defaults of `dfs.webhdfs.user.provider.user.pattern` and, as a user's name may be that of a file, of
`dfs.namenode.fs-limits.max-component-length` (HdfsClientConfigKeys, DFSConfigKeys of Hadoop 3.4.1 and 3.5.0).
"""

import re
from typing import Final

MAX_LENGTH: Final = 255
"""Characters, each of them one byte."""

_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*[$]?")


def is_user_name(name: str) -> bool:
    """Tell whether a NameNode would take this for the name of a user."""
    return len(name) <= MAX_LENGTH and _USER.fullmatch(name) is not None
