"""Serve an admin port over TLS.

As the clients' port is (`nncache.proxy.clients.tls_listener`): handshakes are bounded before a connection is counted,
and a certificate that is replaced is taken up.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nncache.admin.connections import Connections
from nncache.net.endpoint import Endpoint
from nncache.proxy.clients.server_certificate import ServerCertificate
from nncache.proxy.clients.tls_listener import TlsListener
from nncache.proxy.errors import StartError
from nncache.proxy.limits import LimitSettings


@asynccontextmanager
async def listening(
    connections: Connections, certificate: ServerCertificate, endpoint: Endpoint
) -> AsyncIterator[Endpoint]:
    """Listen, and return where; handshakes under way have as many places as connections.

    Raises:
        OSError: the address is taken, or not ours.
    """
    limits = LimitSettings(max_connections=connections.most)
    clock = asyncio.get_running_loop().time
    listener = TlsListener(connections, certificate, limits, clock, key="admin")
    try:
        listener.listen(endpoint.host, endpoint.port)
    except StartError as error:
        raise error.__cause__ or error from None  # the OSError has the reason alone
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(listener.run())
        try:
            yield Endpoint(endpoint.host, listener.port)
        finally:
            listener.stop()
            serving.cancel()
