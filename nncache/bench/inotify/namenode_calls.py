"""How many calls a NameNode has answered."""

import json
import urllib.request
from typing import Final

_ACTIVITY: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
_RPC: Final = "Hadoop:service=NameNode,name=RpcDetailedActivityForPort*"
_TIMEOUT_S: Final = 10.0

AGE_S: Final = 2.0
"""What the NameNode says of its calls is not older than that (seen: 1 s)."""


def file_calls(http: str) -> int:
    """Return how many operations of files the NameNode at this HTTP address has counted (TotalFileOps).

    Over RPC or WebHDFS. A listing of many directories is one; reading attributes is none.
    """
    (activity,) = _beans(http, _ACTIVITY)
    return int(activity["TotalFileOps"])


def attribute_calls(http: str) -> int:
    """Return how often it was asked for extended attributes over RPC, at any port (GetXAttrsNumOps)."""
    return sum(int(bean.get("GetXAttrsNumOps", 0)) for bean in _beans(http, _RPC))


def _beans(http: str, query: str) -> list[dict[str, float]]:
    with urllib.request.urlopen(f"http://{http}/jmx?qry={query}", timeout=_TIMEOUT_S) as reply:
        return list(json.load(reply)["beans"])
