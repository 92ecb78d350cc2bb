"""A directory of a real NameNode as the model's namespace: operations on it, and its replies.

Users, paths and units are the model's: its superuser stands for the cluster's, its root for the directory, and its unit
of length for `_UNIT` bytes.
"""

import asyncio
import http.client
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import quote

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import RemoteCallError
from nncache.hadoop.events import Append, Close, Create, Event, MetadataUpdate, Rename, Truncate
from nncache.hadoop.jmx import JOURNAL_QUERY, parse_last_txid
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker, RawReply
from tests.cluster import make_directory
from tests.model.namespace import SUPERUSER
from tests.real.datanode import ASCII, begin, has_replied, led_to

_TIMEOUT_S: Final = 30.0
_UNIT: Final = 2
_DENIED: Final = re.compile(r"user=(\S+), access=(\S+), inode=\"([^\"]*)\"")
_BELOW_A_FILE: Final = re.compile(r"(\S+) \(is not a directory\)")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, as far as the model specifies it.

    Attributes:
        exception: the RemoteException's name; empty without one.
        denied: the user, access and path that a refusal names, as far as it names them.
        truth: the value of a boolean reply.
        message: the whole message of a RemoteException.
    """

    status: int
    exception: str = ""
    denied: tuple[str, ...] = ()
    truth: bool | None = None
    message: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """A path's status. `file_id` and `mtime` are comparable only within one namespace."""

    kind: str
    owner: str
    mode: str
    children: int
    length: int
    replication: int
    policy: int
    file_id: int
    mtime: int

    @classmethod
    def of(cls, body: bytes, unit: int = 1, user: Callable[[str], str] = str) -> Self:
        """Parse a reply to GETFILESTATUS; lengths are converted to this unit."""
        found = json.loads(body)["FileStatus"]
        return cls(
            kind=found["type"],
            owner=user(found["owner"]),
            mode=found["permission"],
            children=found["childrenNum"],
            length=found["length"] // unit,
            replication=found["replication"],
            policy=found["storagePolicy"],
            file_id=found["fileId"],
            mtime=found["modificationTime"],
        )


@dataclass
class RealNamespace:
    """The directory and its open files.

    Use it as a context manager: its exit deletes the directory and abandons open files.
    """

    cluster: Cluster
    top: str
    _asker: Asker = field(init=False)
    _rpc: NameNodeRpc = field(init=False)
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    _open: dict[int, http.client.HTTPConnection] = field(default_factory=dict)  # by file id

    def __post_init__(self) -> None:
        self._asker = Asker(self.cluster.namenodes[0].http)
        self._rpc = NameNodeRpc(self.cluster.namenodes[0].rpc, self.cluster.superuser)

    def __enter__(self) -> Self:
        make_directory(self.cluster, self.top, "755")
        return self

    def __exit__(self, *_: object) -> None:
        self.call("DELETE", "/", "op=DELETE&recursive=true", SUPERUSER)
        for connection in self._open.values():
            connection.close()
        self._asker.close()
        self._runner.run(self._rpc.close())
        self._runner.close()

    # -- replies

    def status(self, path: str, user: str) -> Shown | Reply:
        """Return the status of a path, or the reply if it is no status."""
        reply = self._ask("GET", path, "op=GETFILESTATUS", user)
        if reply.status != http.client.OK:
            return self._read(reply)
        return Shown.of(reply.body, _UNIT, self._model_user)

    def led_to(self, spelled: str, query: str) -> str:
        """Return the path in the redirect URL of a CREATE's first step, as it is spelled there."""
        reply = self._asker.ask("PUT", f"{PREFIX}{self.top}/{spelled}?op=CREATE{query}")
        location = json.loads(reply.body)["Location"] if reply.body else reply.header("Location")
        return str(location).partition(PREFIX + self.top)[2].partition("?")[0]

    def last_txid(self) -> int:
        """Return the last written transaction id."""
        return parse_last_txid(self._asker.ask("GET", JOURNAL_QUERY).body)

    def events_since(self, txid: int) -> list[list[Event]]:
        """Return the events of each later transaction that has any, in the model's terms."""
        return self._runner.run(self._events_since(txid))

    async def _events_since(self, txid: int) -> list[list[Event]]:
        found: list[list[Event]] = []
        last = await self._rpc.get_current_edit_log_txid()
        async with asyncio.timeout(_TIMEOUT_S):
            while txid < last:
                try:
                    page = await self._rpc.get_edits(txid + 1)
                except RemoteCallError as error:
                    if not error.remote.exception.endswith("NoSuchFileException"):
                        raise
                    continue  # the segment ended while the NameNode was opening it
                for batch in page.batches:
                    mine = [each for event in batch.events if (each := self._model_event(event)) is not None]
                    if mine:
                        found.append(mine)
                txid = max(txid, page.last_txid)
        return found

    def _model_event(self, event: Event) -> Event | None:
        """Return the event with the fields that the model has; None for a path outside the directory."""
        if not (event.source if isinstance(event, Rename) else event.path).startswith(self.top + "/"):
            return None
        match event:
            case Create():
                return Create(kind=event.kind, path=self._inside(event.path), overwrite=event.overwrite)
            case Close():
                return Close(self._inside(event.path), event.file_size // _UNIT)
            case Rename():
                return Rename(self._inside(event.source), self._inside(event.destination))
            case MetadataUpdate():
                return MetadataUpdate(path=self._inside(event.path), kind=event.kind)
            case Truncate():
                return Truncate(self._inside(event.path), event.file_size // _UNIT)
            case _:
                return type(event)(self._inside(event.path))

    # -- operations

    def call(self, method: str, path: str, query: str, user: str) -> Reply:
        """Make a call of one step. A path in its query follows "destination="."""
        query = query.replace("destination=", f"destination={self.top}")
        return self._read(self._ask(method, path, query, user))

    def open(self, method: str, path: str, query: str, user: str) -> Reply:
        """Make both steps of a write but leave the file open, with half of a unit written."""
        before = self.last_txid()
        first = self._ask(method, path, f"{query}&noredirect=true", user)
        if first.status != http.client.OK:
            return self._read(first)
        connection, waits = begin(method, led_to(first), _UNIT)
        if not waits or not self._await_open(connection, path, before):
            return self._end(connection)
        connection.send(b"x" * (_UNIT - 1))
        shown = self.status(path, SUPERUSER)
        assert isinstance(shown, Shown), shown
        self._open[shown.file_id] = connection
        return Reply(http.client.OK)

    def _await_open(self, connection: http.client.HTTPConnection, path: str, before: int) -> bool:
        """Wait until the edits show that the file is open; False if the DataNode replies instead."""
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline:
            if has_replied(connection):
                return False
            for events in self.events_since(before):
                if any(isinstance(each, Create | Append) and each.path == path for each in events):
                    return True
        raise TimeoutError(path)

    def close(self, path: str) -> Reply:
        """Write the rest and complete the file; do nothing if it was not opened here or is closed."""
        shown = self.status(path, SUPERUSER)
        connection = self._open.pop(shown.file_id, None) if isinstance(shown, Shown) else None
        if connection is None:
            return Reply(http.client.OK)
        connection.send(b"x")
        return self._end(connection)

    # -- helpers

    def _ask(self, method: str, path: str, query: str, user: str) -> RawReply:
        who = self.cluster.superuser if user == SUPERUSER else user
        place = self.top if path == "/" else self.top + path
        target = quote(f"{PREFIX}{place}?{query}&user.name={who}", safe=ASCII)
        return self._asker.ask(method, target)

    def _end(self, connection: http.client.HTTPConnection) -> Reply:
        try:
            response = connection.getresponse()
            return self._read(RawReply(response.status, (), response.read(), 0.0, 0.0))
        finally:
            connection.close()

    def _read(self, reply: RawReply) -> Reply:
        return read(reply.status, reply.body, self._inside, self._model_user)

    def _inside(self, path: str) -> str:
        return path.removeprefix(self.top) or "/"

    def _model_user(self, user: str) -> str:
        return SUPERUSER if user == self.cluster.superuser else user


def read(
    status: int, body: bytes, inside: Callable[[str], str] = str, model_user: Callable[[str], str] = str
) -> Reply:
    """Parse a reply of the NameNode or the model; a DataNode's 201 counts as 200."""
    if status in (http.client.OK, http.client.CREATED):
        truth = json.loads(body).get("boolean") if body else None
        return Reply(http.client.OK, truth=truth)
    remote = json.loads(body)["RemoteException"]
    if match := _DENIED.search(remote["message"]):
        user, access, path = match.groups()
        denied: tuple[str, ...] = model_user(user), access, inside(path)
    elif match := _BELOW_A_FILE.search(remote["message"]):
        denied = (inside(match[1]),)
    else:
        denied = ()
    return Reply(status, remote["exception"], denied, message=remote["message"])
