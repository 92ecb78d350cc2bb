"""Reads from one JournalNode over Hadoop RPC.

Only the read calls of QJournalProtocol exist here. The permission to read includes the permission to write, and a
newEpoch would fence the active NameNode. Source: QJournalProtocol.proto, JournalNodeRpcServer and Journal of Hadoop
2.10.2 to 3.5.0, measured on 3.3.6 and 3.5.0.
"""

from dataclasses import dataclass
from typing import Final

from nncache.hadoop.editlog.frames import Frame, Segment, Stop, read_segment
from nncache.hadoop.errors import MalformedEditsError, MalformedReplyError, RemoteCallError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.rpc.connection import Method, RpcConnection
from nncache.hadoop.rpc.proto import journal_pb2 as pb

_PROTOCOL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
_GET_JOURNALED_EDITS: Final = Method(_PROTOCOL, "getJournaledEdits", is_repeatable=True)
_GET_JOURNAL_STATE: Final = Method(_PROTOCOL, "getJournalState", is_repeatable=True)
_GET_EDIT_LOG_MANIFEST: Final = Method(_PROTOCOL, "getEditLogManifest", is_repeatable=True)

_NEWER_TXID: Final = "NewerTxnIdException"
_CACHE_MISS: Final = "JournaledEditsCache$CacheMissException"


class CacheMissError(RemoteCallError):
    """The JournalNode's cache does not contain these transactions; its disk may."""


@dataclass(frozen=True, slots=True)
class JournaledEdits:
    """Transactions from the requested one on, without a gap; empty if there is none yet."""

    layout_version: int  # of the edit log; 0 without transactions
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class JournalState:
    """The state of one journal at a JournalNode."""

    promised_epoch: int  # increases with each NameNode that becomes active
    web: str  # the URL of the JournalNode's web server


@dataclass(frozen=True, slots=True)
class EditLogManifest:
    """The finalized segments of one JournalNode."""

    segments: tuple[Segment, ...]  # in order
    web: str  # the URL of the web server that serves them


class JournalNodeRpc:
    """One journal at one JournalNode.

    Every method raises `RpcUnavailableError` if no reply arrives in time, `RemoteCallError` if the JournalNode
    answers with an exception, and `RpcError` otherwise.
    """

    def __init__(
        self,
        address: str,
        journal_id: str,
        user: str,
        *,
        nameservice: str | None,
        timeout_s: float,
        identity: KerberosIdentity | None = None,
    ) -> None:
        """Connect at the first call; `journal_id` is the last part of a qjournal URI.

        After its restart a JournalNode opens the journal for the first caller: with the keys of this `nameservice`,
        and it synchronizes the journal by them from then on. None: unknown; it synchronizes by a NameNode's later.
        """
        self._connection = RpcConnection(address, user, identity=identity, protocol=_PROTOCOL)
        self._journal = pb.JournalId(identifier=journal_id)
        self._nameservice = nameservice
        self._timeout_s = timeout_s

    @property
    def connection_id(self) -> int:
        """Incremented by each connection; 0 before the first."""
        return self._connection.connection_id

    async def edits(self, since_txid: int, max_transactions: int) -> JournaledEdits:
        """Return the transactions from `since_txid` on that are in the JournalNode's cache.

        They may not be on its disk yet (HDFS-17710), and the next NameNode may discard them. The result is empty, too,
        if the JournalNode lacks the transaction before `since_txid` (NewerTxnIdException since HDFS-16659, an empty
        reply before), or has no such journal: see `state`.

        Raises:
            CacheMissError: `since_txid` is not in its cache.
            MalformedReplyError: the reply does not contain the requested transactions.
        """
        request = pb.GetJournaledEditsRequest(
            jid=self._journal,
            since_txid=since_txid,
            max_txns=max_transactions,
            name_service_id=self._nameservice,
        )
        try:
            reply = await self._connection.call(
                _GET_JOURNALED_EDITS, request, pb.GetJournaledEditsResponse, self._timeout_s
            )
        except RemoteCallError as exc:
            if exc.remote.exception == _NEWER_TXID:
                return JournaledEdits(0, ())
            if exc.remote.exception == _CACHE_MISS:
                raise CacheMissError(
                    exc.remote,
                    address=exc.address,
                    method=_GET_JOURNALED_EDITS.name,
                    user=self._connection.user,
                ) from exc
            raise
        return _decoded(reply, since_txid, self._connection.address)

    async def state(self) -> JournalState:
        """Return the journal's state. Raises RemoteCallError: JournalNotFormattedException if there is no journal."""
        request = pb.GetJournalStateRequest(jid=self._journal, name_service_id=self._nameservice)
        reply = await self._connection.call(
            _GET_JOURNAL_STATE, request, pb.GetJournalStateResponse, self._timeout_s
        )
        return JournalState(reply.last_promised_epoch, self._web(reply))

    async def manifest(self, since_txid: int) -> EditLogManifest:
        """Return the finalized segments that end at `since_txid` or later.

        Raises RemoteCallError: IllegalStateException if an open segment was left in addition to a finalized one.
        """
        request = pb.GetEditLogManifestRequest(
            jid=self._journal,
            since_txid=since_txid,
            in_progress_ok=False,  # an open segment would be scanned; it can still lose transactions
            name_service_id=self._nameservice,
        )
        reply = await self._connection.call(
            _GET_EDIT_LOG_MANIFEST, request, pb.GetEditLogManifestResponse, self._timeout_s
        )
        segments = (
            Segment(log.start_txid, log.end_txid)
            for log in reply.manifest.logs
            if not log.is_in_progress and log.start_txid <= log.end_txid
        )
        return EditLogManifest(tuple(sorted(segments, key=lambda each: each.first_txid)), self._web(reply))

    async def close(self) -> None:
        """Close the connection; calls in flight fail, and so do later ones."""
        await self._connection.close()

    def _web(self, reply: pb.GetJournalStateResponse | pb.GetEditLogManifestResponse) -> str:
        """Return the URL in a reply, with the configured host (IPCLoggerChannel.getHttpServerURI).

        A JournalNode reports its HTTP port, or its HTTPS port if it serves only HTTPS.
        """
        host, _, _ = self._connection.address.rpartition(":")
        scheme = "https" if reply.from_url.startswith(b"https:") else "http"
        return f"{scheme}://{host}:{reply.http_port}"


def _decoded(reply: pb.GetJournaledEditsResponse, since_txid: int, address: str) -> JournaledEdits:
    """Return the transactions of a reply, all of them complete; errors do not reveal their contents."""
    if not reply.txn_count:
        return JournaledEdits(0, ())
    try:
        layout_version, found = read_segment(reply.edit_log)
    except MalformedEditsError as exc:
        raise MalformedReplyError(f"{address}: {exc}") from exc
    frames = found.frames
    if (
        layout_version is None
        or found.stop is not Stop.END
        or len(frames) != reply.txn_count
        or frames[0].txid != since_txid
    ):
        raise MalformedReplyError(
            f"{address} announces {reply.txn_count} transactions from {since_txid} on, and sends {len(frames)}"
            + (f" from {frames[0].txid} on" if frames else "")
        )
    return JournaledEdits(layout_version, frames)
