"""How many calls have reached the NameNode, by its own count."""

import asyncio
from typing import Final

from nncache.demo.options import DemoError
from nncache.testbed.asker import Asker
from nncache.testbed.readiness import jmx

BEAN: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
"""org.apache.hadoop.hdfs.server.namenode.metrics.NameNodeMetrics."""

CALLS: Final = "FileInfoOps"
MARKS: Final = "ListSnapshottableDirOps"

_LOOK_S: Final = 0.05
_TIMEOUT_S: Final = 15.0  # the bean is a copy, renewed once in a metrics period


class CallCounter:
    """Reads a count of NameNodeActivity, and knows that the figure is not an old one.

    JMX shows a copy of the counters that is up to a period old. So the snapshottable directories are asked for, which
    nothing else here does, and the copy that counts it counts every call before it as well.
    """

    def __init__(self, namenode_http: str, user: str, counted: str = CALLS) -> None:
        """Count at this address; `user` sends the marks, `counted` names the count."""
        self._namenode = namenode_http
        self._target = f"/webhdfs/v1/?op=GETSNAPSHOTTABLEDIRECTORYLIST&user.name={user}"
        self._counted = counted
        self._marked = 0  # marks sent by us
        self._marks_before: int | None = None  # what the counter of marks showed before our first

    async def calls(self) -> int:
        """Return the calls so far, those of this moment included. Takes up to a metrics period.

        Raises:
            DemoError: the counters do not move, or there are none.
        """
        counters = await asyncio.to_thread(self._counters)
        if self._marks_before is None:
            self._marks_before = counters[MARKS]
        await asyncio.to_thread(self._mark)
        self._marked += 1
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                while counters[MARKS] < self._marks_before + self._marked:
                    await asyncio.sleep(_LOOK_S)
                    counters = await asyncio.to_thread(self._counters)
        except TimeoutError:
            raise DemoError(f"{MARKS} of the NameNode does not move in {_TIMEOUT_S:.0f} s") from None
        return counters[self._counted]

    def _mark(self) -> None:
        with Asker(self._namenode) as asker:
            asker.ask("GET", self._target)

    def _counters(self) -> dict[str, int]:
        bean = jmx(self._namenode, BEAN)
        if bean is None or MARKS not in bean or self._counted not in bean:
            raise DemoError(f"the NameNode does not show {self._counted} and {MARKS} ({BEAN})")
        return {name: int(bean[name]) for name in (self._counted, MARKS)}
