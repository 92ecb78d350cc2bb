"""Send the smuggling rows to a real NameNode and through the proxy, and compare.

The status of a forwarded request is the NameNode's own. The proxy may refuse a row itself. No row results in a
request that the row does not contain.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from tests.hostile.wire.serving import statuses_of
from tests.hostile.wire.smuggling import ROWS, Row
from tests.proxy.wire import RawClient
from tests.real.proxied_cluster import ProxiedCluster

_REFUSALS: Final = frozenset({400, 405, 408, 414, 431, 505})
_AT_ONCE: Final = 32
_PATIENCE_S: Final = 3.0
"""Wait for a server that waits for the rest of a body; its reply by then is complete."""


async def compare_rows(
    proxied_cluster: ProxiedCluster, progress: Callable[[int], None] = lambda _: None
) -> list[str]:
    """Return a line for each row to which the proxy replies as no NameNode does."""
    slots, done = asyncio.Semaphore(_AT_ONCE), 0

    async def compare(row: Row) -> str:
        nonlocal done
        async with slots:
            ours, theirs = await asyncio.gather(
                _answer(proxied_cluster.proxy.address, row),
                _answer(proxied_cluster.cluster.namenodes[0].http, row),
            )
        done += 1
        progress(done)
        is_refused = not ours or ours[-1] in _REFUSALS
        if is_refused or ours == theirs[: len(ours)]:
            return ""
        return f"{row.name} ({row.section}): {ours}, but the NameNode says {theirs}"

    return [difference for difference in await asyncio.gather(*map(compare, ROWS)) if difference]


async def _answer(address: str, row: Row) -> tuple[int, ...]:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**22)
    client, received = RawClient(reader, writer), bytearray()
    try:
        client.send(row.raw)
        async with asyncio.timeout(_PATIENCE_S):
            while data := await reader.read(65_536):
                received += data
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
    return statuses_of(bytes(received))
