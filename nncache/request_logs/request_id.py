"""The id by which one request is found again in several logs.

A client's own `X-Request-Id` goes to the NameNode like every other field, but no further: its audit log shows a caller
context only of RPC calls (`CallerContext` in the RPC header). `NamenodeWebHdfsMethods` and the `ExternalCall` that it
puts into the call queue set none, and read no such header (bytecode of Hadoop 3.5.0). So no id of ours is sent there.
"""

import random
import re
from typing import Final

_HARMLESS: Final = re.compile(r"[A-Za-z0-9._:/+=@~-]{1,128}")


def shown_id(said: str) -> str:
    """Return the client's id if no log could take harm from it, else one that is made up."""
    return said if _HARMLESS.fullmatch(said) else f"{random.getrandbits(64):016x}"
