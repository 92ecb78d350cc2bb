"""Connections end a few in each turn of the loop, in the order in which their clients closed them."""

import asyncio

from nncache.proxy.clients.endings import AT_A_TURN, Endings
from tests.hostile.fuzzing.transport import DeafTransport


def closed(transports: list[DeafTransport]) -> int:
    """Return how many are closed: the first ones, and no others."""
    count = sum(transport.is_closed for transport in transports)
    assert all(transport.is_closed for transport in transports[:count])
    return count


async def test_each_turn_ends_a_few() -> None:
    """What else is ready has its turn in between, and what is added meanwhile waits behind the others."""
    endings = Endings()
    transports = [DeafTransport() for _ in range(2 * AT_A_TURN + 1)]
    for transport in transports[:-1]:
        endings.add(transport)
    assert closed(transports) == 0
    seen = []
    for _ in range(3):
        await asyncio.sleep(0)
        seen.append(closed(transports))
        if len(seen) == 1:
            endings.add(transports[-1])
    assert seen == [AT_A_TURN, 2 * AT_A_TURN, 2 * AT_A_TURN + 1]


async def test_it_goes_on_after_a_pause() -> None:
    """When none has waited for some turns."""
    endings = Endings()
    for _ in range(2):
        transport = DeafTransport()
        endings.add(transport)
        await asyncio.sleep(0)
        assert transport.is_closed
        await asyncio.sleep(0)
