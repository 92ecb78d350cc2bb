"""Parse a NameNode's replies over JMX, which any user may query.

Source: org.apache.hadoop.jmx.JMXJsonServlet, org.apache.hadoop.hdfs.server.namenode.{NameNodeStatusMXBean,
NameNodeMXBean} of Hadoop 3.4.1 and 3.5.0. The attributes used here are computed at the time of the query; those of
the metrics beans (such as FSNamesystem) are up to ten seconds old and prove nothing.
"""

from typing import Final, TypeVar

import msgspec

from nncache.hadoop.election_view import HaState
from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.unreadable_json import UNREADABLE_JSON

STATUS_QUERY: Final = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus"
"""The HA state and the time of the last transition, in one reply."""

STARTED_QUERY: Final = "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::NNStartedTimeInMillis"
"""The start time of the process. The whole bean would list every DataNode."""

JOURNAL_QUERY: Final = "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::JournalTransactionInfo"
"""The last transaction id that the NameNode has assigned or, as a standby, applied.

Never less than that of a change that was acknowledged before the query: FSEditLog assigns the id before it writes,
syncs and acknowledges, and FSImage.getLastAppliedOrWrittenTxId reads that very field. It takes no lock, so a roll of
the log does not delay the answer. Within one process it never decreases (FSEditLog.setNextTxId).
"""

BLOCK_POOL_QUERY: Final = "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::BlockPoolId"
"""The block pool id: the same on all NameNodes of an HA group, and on no others."""

CLUSTER_QUERY: Final = "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::ClusterId"
"""The cluster id: the same on all nameservices of a federation."""

_STATES: Final = {state.name.lower(): state for state in HaState}


class _Transactions(msgspec.Struct, frozen=True):
    last_txid: str = msgspec.field(name="LastAppliedOrWrittenTxId")


class _Beans(msgspec.Struct, frozen=True):
    beans: tuple[dict[str, msgspec.Raw]]  # one


_ValueT = TypeVar("_ValueT", int, str)

# Each `parse_...` parses the reply to one of these queries, and raises MalformedReplyError if the reply is invalid.


def parse_status(body: bytes) -> tuple[HaState, int]:
    """Return the HA state from STATUS_QUERY, and its start time in ms by the NameNode's clock; 0 without HA.

    A NameNode that is still starting has no such bean yet.
    """
    word = _attribute(body, "State", str)
    state = _STATES.get(word)
    if state is None:
        raise MalformedReplyError(f"JMX shows a state that is not known: {word!r}")
    return state, _attribute(body, "LastHATransitionTime", int)


def parse_rpc_address(body: bytes) -> str:
    """Return the RPC address for clients from STATUS_QUERY: host:port, as the NameNode itself reports it."""
    return _text(body, "HostAndPort", "RPC address")


def parse_started_ms(body: bytes) -> int:
    """Return the start time from STARTED_QUERY: ms since 1970 by the NameNode's clock."""
    return _attribute(body, "NNStartedTimeInMillis", int)


def parse_block_pool(body: bytes) -> str:
    """Return the block pool id from BLOCK_POOL_QUERY, such as "BP-1182375612-127.0.0.1-1795298171446"."""
    return _text(body, "BlockPoolId", "block pool")


def parse_cluster_id(body: bytes) -> str:
    """Return the cluster id from CLUSTER_QUERY, such as "CID-4d7d46ab-158f-46e8-a16b-30382852d068"."""
    return _text(body, "ClusterId", "cluster id")


def parse_last_txid(body: bytes) -> int:
    """Return the last transaction id from JOURNAL_QUERY, whose value is JSON within the JSON."""
    text = _attribute(body, "JournalTransactionInfo", str)
    try:
        return int(msgspec.json.decode(text, type=_Transactions).last_txid)
    except (*UNREADABLE_JSON, ValueError) as exc:
        raise MalformedReplyError(f"JMX shows no last transaction id: {text[:200]!r}") from exc


def _text(body: bytes, name: str, what: str) -> str:
    text = _attribute(body, name, str)
    if not text:
        raise MalformedReplyError(f"JMX shows no {what} yet")
    return text


def _attribute(body: bytes, name: str, kind: type[_ValueT]) -> _ValueT:
    """Return an attribute of the only bean."""
    try:
        (bean,) = msgspec.json.decode(body, type=_Beans).beans
        return msgspec.json.decode(bean[name], type=kind)
    except (*UNREADABLE_JSON, KeyError) as exc:
        raise MalformedReplyError(f"not the JMX bean that was asked for: {body[:200]!r}") from exc
