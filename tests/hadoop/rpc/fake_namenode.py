"""A NameNode behind `fake_server`: as little of one as the contract with the real one needs."""

from dataclasses import dataclass, field

from nncache.hadoop.namespace import Namespace
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto import inotify_pb2 as inotify
from tests.hadoop.rpc.fake_server import Answer, Call, Failure, Result

FOR_SUPERUSERS = {"getEditsFromTxid", "getCurrentEditLogTxid", "rollEdits"}
NAMESPACE = Namespace("CID-1", "BP-1-127.0.0.1-1")
STANDBY = Failure(
    "org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby"
)


def version(namespace: Namespace) -> Result:
    """Answer versionRequest."""
    reply = client.VersionResponse()
    reply.info.block_pool_id = namespace.block_pool
    reply.info.storage_info.cluster_id = namespace.cluster_id
    return Result(reply)


@dataclass(slots=True)
class FakeNameNode:
    """Answers calls; `answer` fits `fake_server`."""

    superuser: str
    is_standby: bool = False
    closed: dict[str, bool] = field(default_factory=dict)  # files, and whether each is closed
    events: dict[int, bytes] = field(default_factory=dict)  # txid -> UnlinkEvent
    txid: int = 1
    namespace: Namespace = NAMESPACE
    groups: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"alice": ("alice", "users")})

    def unlink(self, path: str) -> None:
        """Write one transaction."""
        self.txid += 1
        self.events[self.txid] = inotify.UnlinkEvent(path=path.encode(), timestamp=1).SerializeToString()

    def answer(self, call: Call) -> Answer:
        """Answer as the real one does."""
        if call.method in FOR_SUPERUSERS and call.user != self.superuser:
            return Failure(
                "org.apache.hadoop.security.AccessControlException",
                f"Access denied for user {call.user}. Superuser privilege is required for operation {call.method}",
            )
        if call.method == "getGroupsForUser":
            asked = client.GetGroupsForUserRequest.FromString(call.request).user
            return Result(client.GetGroupsForUserResponse(groups=self.groups.get(asked, ())))
        if call.method == "versionRequest":
            return version(self.namespace)
        return STANDBY if self.is_standby else self._answer(call)

    def _answer(self, call: Call) -> Answer:
        match call.method:
            case "getFileInfo":
                return self._file_info(client.GetFileInfoRequest.FromString(call.request).src)
            case "isFileClosed":
                path = client.IsFileClosedRequest.FromString(call.request).src
                if path not in self.closed:
                    return Failure("java.io.FileNotFoundException", f"File does not exist: {path}")
                return Result(client.IsFileClosedResponse(result=self.closed[path]))
            case "checkAccess":
                path = client.CheckAccessRequest.FromString(call.request).path
                if path != "/" and path not in self.closed:
                    return Failure("java.io.FileNotFoundException", f"Path not found: {path}")
                return Result(client.CheckAccessResponse())
            case "getCurrentEditLogTxid":
                return Result(client.GetCurrentEditLogTxidResponse(txid=self.txid))
            case "getEditsFromTxid":
                return Result(self._edits(client.GetEditsFromTxidRequest.FromString(call.request).txid))
            case "rollEdits":
                self.txid += 2
                return Result(client.RollEditsResponse(new_segment_txid=self.txid))
            case unknown:
                return Failure("org.apache.hadoop.ipc.RpcNoSuchMethodException", f"Unknown method {unknown}")

    def _file_info(self, path: str) -> Answer:
        if path != "/" and path not in self.closed:
            return Result(client.GetFileInfoResponse())
        status = client.HdfsFileStatus(
            file_type=1 if path == "/" else 2,
            path=b"",
            length=0,
            permission={"perm": 0o755},
            owner=b"o",
            group=b"g",
            modification_time=1,
            access_time=1,
        )
        return Result(client.GetFileInfoResponse(fs=status))

    def _edits(self, asked: int) -> client.GetEditsFromTxidResponse:
        if asked > self.txid:
            edits = inotify.EventsList(first_txid=-1, last_txid=-1, sync_txid=self.txid)
        else:
            edits = inotify.EventsList(first_txid=asked, last_txid=self.txid, sync_txid=self.txid)
            for txid, event in self.events.items():
                if txid >= asked:
                    edits.batch.add(txid=txid).events.add(type=5, contents=event)
        return client.GetEditsFromTxidResponse(events_list=edits)
