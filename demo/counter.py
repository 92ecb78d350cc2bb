"""How many getFileInfo calls have reached the NameNode, by its own count. (demo/counter.py)"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from nncache.demo.errors import SilentCounterError
from nncache.testbed.asker import Asker
from nncache.testbed.readiness import jmx

BEAN: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
"""org.apache.hadoop.hdfs.server.namenode.metrics.NameNodeMetrics."""

CALLS: Final = "FileInfoOps"
MARKS: Final = "ListSnapshottableDirOps"

_LOOK_S: Final = 0.05
_TIMEOUT_S: Final = 15.0  # the bean is a copy, made anew once in a metrics period


class CallCounter:
    """Reads FileInfoOps, and knows that the figure is not an old one.

    JMX shows a copy of the counters that is up to a period old. So the snapshottable directories are asked for, which
    nobody else in the story does, and the copy that counts it counts every call before it as well.
    """

    def __init__(
        self, bean: Callable[[], Mapping[str, Any] | None], mark: Callable[[], None], counted: str = CALLS
    ) -> None:
        self._bean = bean
        self._mark = mark
        self._counted = counted  # the name of its count
        self._marked = 0  # marks sent by us
        self._marks_before: int | None = None  # what the counter of marks showed before our first

    @classmethod
    def of(cls, namenode_http: str, user: str, counted: str = CALLS) -> "CallCounter":
        """Return the counter of the NameNode at this address; `user` sends the marks, `counted` names the count."""

        def mark() -> None:
            with Asker(namenode_http) as asker:
                asker.ask("GET", f"/webhdfs/v1/?op=GETSNAPSHOTTABLEDIRECTORYLIST&user.name={user}")

        return cls(lambda: jmx(namenode_http, BEAN), mark, counted)

    async def calls(self) -> int:
        """Return the calls so far, those of this moment included. Takes up to a metrics period.

        Raises:
            SilentCounterError: the counters do not move, or there are none.
        """
        counters = await self._counters()
        if self._marks_before is None:
            self._marks_before = counters[MARKS]
        await asyncio.to_thread(self._mark)
        self._marked += 1
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                while counters[MARKS] < self._marks_before + self._marked:
                    await asyncio.sleep(_LOOK_S)
                    counters = await self._counters()
        except TimeoutError:
            raise SilentCounterError(
                f"{MARKS} of the NameNode still shows {counters[MARKS]} after {_TIMEOUT_S:.0f} s"
            ) from None
        return counters[self._counted]

    async def _counters(self) -> dict[str, int]:
        bean = await asyncio.to_thread(self._bean)
        if bean is None or MARKS not in bean or self._counted not in bean:
            raise SilentCounterError(f"the NameNode does not show {self._counted} and {MARKS} ({BEAN})")
        return {name: int(bean[name]) for name in (self._counted, MARKS)}
