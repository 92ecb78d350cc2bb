"""Who runs the test bed."""

import getpass
import os

from nncache.testbed.errors import MissingToolError


def own_user() -> str:
    """Return the name of the user of this process, as whom the servers run.

    Raises:
        MissingToolError: The user id has no name, as in some containers, and Hadoop's servers do not start without.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError) as exc:
        uid = os.getuid()
        raise MissingToolError(
            f"user id {uid} has no name, and Hadoop's servers need one: run as a user that has one, or add an entry "
            f"such as hdfs:x:{uid}:0::/tmp:/bin/sh to /etc/passwd"
        ) from exc
