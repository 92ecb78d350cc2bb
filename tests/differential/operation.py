"""One operation of a differential run, as a value that can be printed and made again from its seed."""

import http.client
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from nncache.testbed.asker import Asker, RawReply
from tests.real.datanode import begin, has_replied, led_to
from tests.real.proxied_cluster import ProxiedCluster, Where

METHODS: Final = {
    "DELETE": "DELETE",
    "DELETESNAPSHOT": "DELETE",
    "TRUNCATE": "POST",
    "CONCAT": "POST",
    "UNSETSTORAGEPOLICY": "POST",
    "UNSETECPOLICY": "POST",
    "OPEN": "GET",
}
_TWO_STEP: Final = {"CREATE", "APPEND"}

REMADE: Final = "MKDIRS below what was just deleted"
RACED: Final = "CREATE with another writer in between"
ALIASED: Final = "APPEND to an alias"
LATE: Final = "CREATE with a late second step"
HELD: Final = "CREATE held open"
"""Kinds that are more than one call of WebHDFS."""

_OPENS_S: Final = 10.0
"""After so long without a file a DataNode is asked what became of it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call, a two-step write, or one of the stories below.

    Attributes:
        paths: what it is about; the first is the one whose change is timed.
        user: None is the superuser.
    """

    kind: str
    where: Where
    user: str | None
    paths: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...] = ()
    data: bytes = field(default=b"", repr=False)

    def carry_out(self, proxied_cluster: ProxiedCluster) -> RawReply:
        """Make the call; the reply's `ended_at` is when the change was acknowledged."""
        if self.kind in _TWO_STEP:
            return self._write(proxied_cluster, self.kind)
        if self.kind == REMADE:
            proxied_cluster.call(Where.NAMENODE, "DELETE", "DELETE", self.paths[1], recursive="true")
            return proxied_cluster.call(Where.PROXY, "PUT", "MKDIRS", self.paths[0], permission="777")
        if self.kind == RACED:
            return self._race(proxied_cluster)
        if self.kind == ALIASED:
            return self._append_by_alias(proxied_cluster)
        op = self.kind.split(" ")[0]  # what follows says which form of it
        return proxied_cluster.call(
            self.where, METHODS.get(op, "PUT"), op, self.paths[0], self.user, **dict(self.parameters)
        )

    def _write(self, proxied_cluster: ProxiedCluster, op: str) -> RawReply:
        path, parameters = self.paths[0], dict(self.parameters)
        return proxied_cluster.write(
            self.where,
            path,
            self.data,
            self.user,
            op=op,
            parameters=parameters,
            is_redirected=not path.isascii(),
        )

    def _race(self, proxied_cluster: ProxiedCluster) -> RawReply:
        """Let somebody else write the path behind the proxy's back, between the two steps."""

        def between() -> None:
            proxied_cluster.write(Where.NAMENODE, self.paths[0], b"other", parameters={"overwrite": "true"})

        return proxied_cluster.write(
            Where.PROXY,
            self.paths[0],
            self.data,
            self.user,
            between=between,
            parameters=dict(self.parameters),
        )

    def _append_by_alias(self, proxied_cluster: ProxiedCluster) -> RawReply:
        alias = f"/.reserved/.inodes/{file_id(proxied_cluster, self.paths[0]) or 0}"
        return proxied_cluster.write(Where.PROXY, alias, self.data, self.user, op="APPEND")

    def begin(self, proxied_cluster: ProxiedCluster) -> "Unfinished | RawReply":
        """Make the first step of a two-step write, and of HELD as much of the second as opens the file.

        Returns the reply instead when it is a refusal, or when the DataNode gives one without waiting for content.
        """
        path, parameters = self.paths[0], dict(self.parameters)
        first = proxied_cluster.call(
            self.where, "PUT", "CREATE", path, self.user, noredirect="true", **parameters
        )
        if first.status != http.client.OK:
            return first
        location = led_to(first)
        if self.kind == LATE:
            address, _, target = location.removeprefix("http://").partition("/")
            return Unfinished(self, Asker(address), "/" + target, first)
        return self._open(proxied_cluster, location)

    def _open(self, proxied_cluster: ProxiedCluster, location: str) -> "Unfinished | RawReply":
        """Send the DataNode all but the last byte, and wait until the file is there: it asks for content before."""
        began_at = time.monotonic()
        replaced = file_id(proxied_cluster, self.paths[0])
        connection, waits = begin("PUT", location, len(self.data))
        if not waits:
            return _end(connection, began_at)
        connection.send(self.data[:-1])
        deadline = time.monotonic() + _OPENS_S
        while file_id(proxied_cluster, self.paths[0]) == replaced and not has_replied(connection):
            if time.monotonic() > deadline:
                return _end(connection, began_at)
        opened = RawReply(http.client.OK, (), b"", began_at, time.monotonic())
        return Unfinished(self, connection, location, opened)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A two-step write whose second step is still to come (LATE), or under way (HELD)."""

    operation: Operation
    datanode: Asker | http.client.HTTPConnection
    target: str
    begun: RawReply  # its `ended_at` is when what was done so far was acknowledged

    def finish(self) -> RawReply:
        """Make the second step, or the rest of it."""
        began_at = time.monotonic()
        if isinstance(self.datanode, Asker):
            with self.datanode:
                return self.datanode.ask("PUT", self.target, body=self.operation.data)
        with suppress(BrokenPipeError, ConnectionResetError):  # a file that was deleted meanwhile, for one
            self.datanode.send(self.operation.data[-1:])
        return _end(self.datanode, began_at)

    def close(self) -> None:
        """Give it up, if it is not finished."""
        self.datanode.close()


def _end(connection: http.client.HTTPConnection, began_at: float) -> RawReply:
    """Read the DataNode's reply; one of 502 stands for none, where it closes the connection instead."""
    try:
        response = connection.getresponse()
        status, headers, body = response.status, tuple(response.getheaders()), response.read()
    except (http.client.RemoteDisconnected, ConnectionResetError):
        status, headers, body = int(http.client.BAD_GATEWAY), (), b""
    finally:
        connection.close()
    return RawReply(status, headers, body, began_at, time.monotonic())


def file_id(proxied_cluster: ProxiedCluster, path: str) -> int | None:
    """Ask the NameNode for the id of what is at a path; None when that is nothing."""
    status = proxied_cluster.call(Where.NAMENODE, "GET", "GETFILESTATUS", path)
    return int(json.loads(status.body)["FileStatus"]["fileId"]) if status.status == http.client.OK else None
