"""Places of the listed modules at which no race is held, each with its reason.

By `Place.key`. A row about a place that is not there fails the run, and so does one that says that nobody waits at a
place where somebody did.
"""

from typing import Final

_TASK_GROUP = "entering a TaskGroup waits for nothing (Lib/asyncio/taskgroups.py)"
_LOCK = "leaving a Lock waits for nothing (Lib/asyncio/locks.py)"
_HANDSHAKE = (
    "with SIMPLE authentication a connection is ready as soon as it is made (hadoop/rpc/handshake.py)"
)
_GIVEN_BACK = "giving a connection back is synchronous (hadoop/rpc/callers.py)"
_NO_IDENTITY = (
    "with SIMPLE authentication a connection has no initiator; with Kerberos it waits before a connection is made, as "
    "`loop.create_connection` does, which is raced"
)

NEVER_WAITS: Final[dict[str, str]] = {
    "proxy.clients.catching_up.CatchingUp.run: enter asyncio.TaskGroup": _TASK_GROUP,
    "hadoop.jmx_client.JmxClient._get: exit self._session.get": (
        "it waits for a request's body to be written, and a GET has none (aiohttp, client_reqrep.py, wait_for_close)"
    ),
    "hadoop.pool.NameNodePool.run: enter aiohttp.ClientSession, asyncio.TaskGroup": _TASK_GROUP
    + "; so does a ClientSession",
    "hadoop.rpc.connection.RpcConnection._open_wire: await wire.wait_ready": _HANDSHAKE,
    "hadoop.rpc.connection.RpcConnection._usable_wire: exit self._connecting": _LOCK,
    "hadoop.rpc.wire.Wire.wait_ready: await asyncio.shield": _HANDSHAKE,
    "hadoop.rpc.connection.RpcConnection._initiator: await self._identity.initiator": _NO_IDENTITY,
    "hadoop.rpc.connection.RpcConnection._open_wire: await self._initiator": _NO_IDENTITY,
    "invalidation.follower.follower.Follower._read_filters: exit self._filter_lock": _LOCK,
    "proxy.existing_path.PathProbe._look_above: exit shared.lock": _LOCK,
    "invalidation.direct.DirectInotifyEventInputStream.open: await self.close": "close has nothing to wait for",
    "invalidation.follower.stream.ZooKeeperInotifyEventInputStream._begin: await tasks.__aenter__": _TASK_GROUP,
    "invalidation.follower.stream.ZooKeeperInotifyEventInputStream._entered: await zookeeper.__aenter__": (
        "a session begins to connect and returns (coordination/session.py)"
    ),
    "invalidation.follower.stream.ZooKeeperInotifyEventInputStream.open: await self._entered": (
        "what is awaited in it does not wait, see there"
    ),
    "invalidation.follower.stream.ZooKeeperInotifyEventInputStream.open: await self.close": (
        "the life before was closed by its own `async with`, so there are no tasks to wait for"
    ),
    "proxy.upstream.queries.PoolQueries._is_file_closed_as: exit self._pool.rpc_as": _GIVEN_BACK,
    "proxy.upstream.queries.PoolQueries._ask_as: exit self._pool.rpc_as": _GIVEN_BACK,
    "proxy.front_end.FrontEnd.__aenter__: await self._tasks.__aenter__": _TASK_GROUP,
    "proxy.upstream.client.Upstream.__aenter__: await self._tasks.__aenter__": _TASK_GROUP,
    "proxy.upstream.client.Upstream.__aenter__: await self._login.__aenter__": "nothing is asked yet",
    "proxy.upstream.client.Upstream._pass_on: await response.prepare": "RawResponse.prepare awaits nothing",
    "proxy.upstream.client.Upstream.fetch: await answer.close": (
        "it waits for a body that is being sent, and what is fetched has none"
    ),
}
"""The awaited coroutine has no wait of its own on any way through it."""

_ENDS = "the proxy ends: its clients have gone, and nothing is answered from memory any more"
_BEGINS = "the proxy begins, and has no client yet"
_ANSWERED = "its request is answered; what the client still sends of a body is thrown away"
_NOT_ACCEPTED = (
    "nothing is read yet from a connection that waits here, and no answer exists that could grow old"
)
_BEFORE = "only where the proxy authenticates its clients, before a request has asked the cache or a NameNode"
_AS_SERVICE = (
    "only where the proxy authenticates its clients: until the call is sent it waits as in `_acquire`, "
    "and then in `_send`; both are raced"
)
_IDLE = "connections that nobody has used for a minute are closed"
_CHECK_ONLY = "only `nncache check` asks (nncache/checks/namenode_probe.py)"
_REFUSED = "only where a web server refuses /jmx: what is read there makes the text of an error"

OFF_THE_PATH: Final[dict[str, str]] = {
    "hadoop.jmx_client.JmxClient.ask: await see_guarded": (
        "only with Kerberos; it asks between two questions at which races are held, and what it learns is for the life "
        "of the process that both are about"
    ),
    "hadoop.jmx_client.JmxClient._get: await self._refused": _REFUSED,
    "hadoop.jmx_client.JmxClient._refused: await reply.content.read": _REFUSED,
    "hadoop.pool.NameNodePool.run: exit aiohttp.ClientSession, asyncio.TaskGroup": (
        "the task that watches the NameNodes does its work in others: it waits for their end"
    ),
    "hadoop.pool.NameNodePool.close: await rpc.close": _ENDS,
    "hadoop.pool.NameNodePool.close: await self._callers.close": _ENDS,
    "hadoop.pool.NameNodePool._close_idle: await asyncio.sleep": _IDLE,
    "hadoop.pool.NameNodePool._close_idle: await self._callers.close_idle": _IDLE,
    "hadoop.rpc.callers.CallerConnections.close: await connection.rpc.close": _ENDS,
    "hadoop.rpc.callers.CallerConnections.close_idle: await connection.rpc.close": _IDLE,
    "hadoop.rpc.namenode.NameNodeRpc.groups_of: await self._call": _CHECK_ONLY,
    "hadoop.rpc.namenode.NameNodeRpc.namespace: await self._call": _CHECK_ONLY,
    "invalidation.follower.stream.ZooKeeperInotifyEventInputStream.open: await self._namenodes.wait_active": (
        "it waits only while no NameNode is active; the stream has not begun, so that the gate is closed, and the "
        "waits before and after it, at which nothing more is known, are raced"
    ),
    "invalidation.follower.stream.ZooKeeperInotifyEventInputStream.shut_down: await self.close": _ENDS,
    "invalidation.follower.stream.ZooKeeperInotifyEventInputStream.shut_down: await zookeeper.__aexit__": _ENDS,
    "proxy.upstream.failover.FailoverClient.ask: await answer.close": (
        "only while a body is on its way to a NameNode that says it is a standby: there is one NameNode here; the "
        "same wait is raced in `_send`"
    ),
    "proxy.upstream.exchange.Exchange.send_body: await writer.write_eof": (
        "it waits only where the last part filled the connection's buffers to just below their limit, and then for "
        "what `writer.write(part)` waits for, which is raced"
    ),
    "proxy.clients.connection.ClientConnection.finish_response: await super().finish_response": (
        "it waits only where a reply from memory stands behind others that its client does not read; the same wait, "
        "`RawResponse._wait_for_reader`, is raced in `Upstream._pass_on`"
    ),
    "proxy.clients.catching_up.CatchingUp.run: await asyncio.sleep": _NOT_ACCEPTED,
    "proxy.clients.catching_up.CatchingUp.run: exit asyncio.TaskGroup": _NOT_ACCEPTED,
    "proxy.clients.catching_up.CatchingUp._serve: await asyncio.get_running_loop().connect_accepted_socket": (
        _NOT_ACCEPTED
    ),
    "proxy.clients.one_task.OneTaskHandler._discard: await payload.readany": _ANSWERED,
    "proxy.clients.one_task.OneTaskHandler._serve_next: await self._discard": _ANSWERED,
    "proxy.front_end.FrontEnd.__aexit__: await self._tasks.__aexit__": _ENDS,
    "proxy.clients.server.Server.catch_up: await self._catching_up.run": _NOT_ACCEPTED,
    "proxy.clients.server.Server.listen: await self.start": _BEGINS,
    "proxy.clients.server.Server.listen: await self.stop": _BEGINS,
    "proxy.clients.server.Server.start: await loop.create_server": _BEGINS,
    "proxy.clients.server.Server.stop: await self._all_left.wait": _ENDS,
    "proxy.clients.server.Server.stop: await self._http.shutdown": _ENDS,
    "proxy.upstream.client.Upstream._pass_on: await answer.close": (
        "it waits only for the body of a request whose reply was too long to be held and came whole before the body "
        "was sent; the same wait is raced in `Upstream.stream`"
    ),
    "proxy.upstream.client.Upstream.stream: await answer.close#2": (
        "the second close of an answer waits for nothing; it is the first only where the client has left, or after a "
        "fault of ours, when the outcome is settled: the same wait as the first, which is raced"
    ),
    "proxy.upstream.queries.PoolQueries._ask_as: enter self._pool.rpc_as": (
        "it waits only while the connection of another caller is closed to make room, as in `_is_file_closed_as`, "
        "where it is raced"
    ),
    "proxy.upstream.queries.PoolQueries._ask_as: await asyncio.sleep": (
        "only while all connections as callers are in use, and no question has been asked yet"
    ),
    "proxy.upstream.client.Upstream.__aexit__: await self._tasks.__aexit__": _ENDS,
    "proxy.waiting.Waits.answer: await self._reads.answer#2": (
        "only where more clients wait than may; it is answered as one that wishes no wait, which is raced there"
    ),
    "proxy.waiting.Waits._answer_to: await self._fetched": (
        "only where a fault of ours has ended the question before; the same wait is raced in `_asked`"
    ),
    "proxy.waiting.Waits._hold: await self._reads.answer": (
        "it waits only where the path changes between two turns of the loop, after the answer to all who wait; "
        "the same wait is raced in `_asked`"
    ),
    "proxy.front_end.FrontEnd._handle: await self.terminator.admit": _BEFORE,
    "proxy.upstream.failover.FailoverClient._ask_one: await self._ask_as_service": _AS_SERVICE,
    "proxy.upstream.failover.FailoverClient._ask_as_service: await self._login.signed": _AS_SERVICE,
    "proxy.upstream.failover.FailoverClient._ask_as_service: await self._login.signed#2": _AS_SERVICE,
    "proxy.upstream.failover.FailoverClient._ask_as_service: await self._send": _AS_SERVICE,
    "proxy.upstream.failover.FailoverClient._ask_as_service: await self._send#2": _AS_SERVICE,
    "proxy.upstream.failover.FailoverClient._ask_as_service: await answer.close": _AS_SERVICE,
    "proxy.upstream.failover.FailoverClient._ask_as_service: await answer.close#2": _AS_SERVICE,
    "proxy.upstream.client.Upstream.__aexit__: await self._login.__aexit__": _ENDS,
}
"""It may wait, but not on the way of a read, a forwarded call or a change. A long run may hold one there in passing."""
