"""How many calls reach the NameNode, by its own counters."""

import json
import time
import urllib.request
from dataclasses import dataclass
from typing import Final, Self

_BEAN: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
_COUNTED: Final = ("FileInfoOps", "GetListingOps")
"""Of NameNodeMetrics (Hadoop 3.5.0); WebHDFS calls are counted like RPC calls."""

_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of calls at a moment (`time.monotonic()`); None: the NameNode did not say."""

    at: float
    calls: int | None

    @classmethod
    def now(cls, http: str) -> Self:
        """Ask the NameNode at this address."""
        try:
            with urllib.request.urlopen(f"http://{http}/jmx?qry={_BEAN}", timeout=_TIMEOUT_S) as reply:
                (bean,) = json.load(reply)["beans"]
        except OSError:
            return cls(time.monotonic(), None)
        return cls(time.monotonic(), sum(bean[name] for name in _COUNTED))

    def rate_until(self, later: Self) -> float | None:
        """Return the calls a second between two moments."""
        if self.calls is None or later.calls is None:
            return None
        return (later.calls - self.calls) / (later.at - self.at)
