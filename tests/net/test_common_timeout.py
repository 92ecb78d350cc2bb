"""One timer calls back each call that is late, and no other."""

import asyncio

from nncache.net.common_timeout import CommonTimeout
from tests.invalidation.virtual_time import VirtualLoop

LOOP = VirtualLoop


class Call:
    """A call in progress; records when it was reported late."""

    def __init__(self, late: "CommonTimeout[Call]") -> None:
        self.late = late
        self.late_at: list[float] = []
        self.ends_with: list[Call] = []  # calls that end when this one is late

    def is_late(self) -> None:
        """Record the time."""
        self.late_at.append(asyncio.get_running_loop().time())
        for other in self.ends_with:
            self.late.end(other)


async def test_each_call_is_late_at_its_own_time() -> None:
    """Calls are late in order. A call whose reply has arrived is not late, and none is reported twice."""
    late, loop = CommonTimeout(1.0, Call.is_late), asyncio.get_running_loop()
    begun, calls = loop.time(), [Call(late) for _ in range(4)]
    for call in calls:
        late.begin(call, loop)
        await asyncio.sleep(0.3)
    late.end(calls[2])
    late.end(calls[2])
    await asyncio.sleep(5.0)
    reported = [[round(at - begun, 2) for at in call.late_at] for call in calls]
    assert reported == [[1.0], [1.3], [], [1.9]]
    assert len(late) == 0
    again = Call(late)
    late.begin(again, loop)
    await asyncio.sleep(0.9)
    assert again.late_at == []
    await asyncio.sleep(0.2)
    assert len(again.late_at) == 1, "the timer runs again after none had waited"


async def test_one_that_ends_another_spares_it_the_word() -> None:
    """Both were late at the same time."""
    late, loop = CommonTimeout(1.0, Call.is_late), asyncio.get_running_loop()
    first, second = Call(late), Call(late)
    first.ends_with = [second]
    for call in (first, second):
        late.begin(call, loop)
    await asyncio.sleep(2.0)
    assert (len(first.late_at), second.late_at) == (1, [])


async def test_no_call_is_late_after_the_end() -> None:
    """`close` stops the timer; a second `close` has no effect."""
    late, loop = CommonTimeout(1.0, Call.is_late), asyncio.get_running_loop()
    call = Call(late)
    late.begin(call, loop)
    late.close()
    late.close()
    await asyncio.sleep(2.0)
    assert call.late_at == []
