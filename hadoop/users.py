"""What HDFS takes for the name of a user. (hadoop/users.py)"""

import re
from typing import Final

# Source: the default of `dfs.webhdfs.user.provider.user.pattern` (HdfsClientConfigKeys), Hadoop 3.4.1 and 3.5.0; and of
# `dfs.namenode.fs-limits.max-component-length`, as a user's name may be that of a file.
_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9._-]{0,253}[$]?")


def is_user_name(name: str) -> bool:
    """Tell whether a NameNode would take this for the name of a user."""
    return _USER.fullmatch(name) is not None
