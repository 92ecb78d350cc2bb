"""Read what a NameNode says of itself over JMX, which any user may ask.

Source: org.apache.hadoop.jmx.JMXJsonServlet, org.apache.hadoop.hdfs.server.namenode.{NameNodeStatusMXBean,
NameNodeMXBean} of Hadoop 3.4.1 and 3.5.0. The attributes used here are computed when they are asked for; those of
the metrics beans (such as FSNamesystem) are up to ten seconds old and prove nothing.
"""

from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from nncache.hadoop.election_view import HaState, Journal, ProbeReply
from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.namespace import Namespace

STATUS_QUERY: Final = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus"
"""State and time of the last transition, in one reply."""

STARTED_QUERY: Final = "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::NNStartedTimeInMillis"
"""When the process started. The whole bean would list every DataNode."""

JOURNAL_QUERY: Final = "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::JournalTransactionInfo"
"""The last transaction id that the NameNode has given out or, as a standby, applied.

Never less than that of a change which was acknowledged before this was asked: FSEditLog gives the id out before it
writes, syncs and acknowledges, and FSImage.getLastAppliedOrWrittenTxId reads that very field. It takes no lock, so a
roll of the log does not hold up the answer. Within one process it never goes back (FSEditLog.setNextTxId).
"""

BLOCK_POOL_QUERY: Final = "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::BlockPoolId"
"""Which namespace the NameNode serves: the same on all NameNodes of an HA group, and on no others."""

CLUSTER_QUERY: Final = "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::ClusterId"
"""Which cluster the NameNode belongs to: the same on all nameservices of a federation."""

_STATES: Final = {state.name.lower(): state for state in HaState}


class _Status(msgspec.Struct, frozen=True, rename="pascal"):
    state: str
    last_transition_ms: int = msgspec.field(name="LastHATransitionTime")


class _Place(msgspec.Struct, frozen=True):
    rpc_address: str = msgspec.field(name="HostAndPort")


class _Started(msgspec.Struct, frozen=True):
    started_ms: int = msgspec.field(name="NNStartedTimeInMillis")


class _BlockPool(msgspec.Struct, frozen=True):
    block_pool: str = msgspec.field(name="BlockPoolId")


class _Cluster(msgspec.Struct, frozen=True):
    cluster_id: str = msgspec.field(name="ClusterId")


class _Journal(msgspec.Struct, frozen=True):
    text: str = msgspec.field(name="JournalTransactionInfo")  # JSON within the JSON


class _Transactions(msgspec.Struct, frozen=True):
    last_txid: str = msgspec.field(name="LastAppliedOrWrittenTxId")


class _Beans(msgspec.Struct, frozen=True):
    beans: list[msgspec.Raw]


_BeanT = TypeVar("_BeanT", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Status:
    """The HA state of a NameNode, and since when it has it."""

    state: HaState
    transition_ms: int  # by the NameNode's clock; 0 without HA

    def answer(
        self, started_ms: int, namespace: Namespace | None = None, journal: Journal | None = None
    ) -> ProbeReply:
        """Put it together with what else the same process said."""
        return ProbeReply(
            state=self.state,
            started_ms=started_ms,
            transition_ms=self.transition_ms,
            namespace=namespace,
            journal=journal,
        )


def parse_status(body: bytes) -> Status:
    """Read the reply to STATUS_QUERY.

    Raises:
        MalformedReplyError: It says something else; a NameNode that is still starting has no such bean yet.
    """
    bean = _parse_bean(body, _Status)
    state = _STATES.get(bean.state)
    if state is None:
        raise MalformedReplyError(f"JMX shows a state that is not known: {bean.state!r}")
    return Status(state, bean.last_transition_ms)


def parse_rpc_address(body: bytes) -> str:
    """Read from the reply to STATUS_QUERY where clients reach the NameNode over RPC: host:port, as it says itself.

    Raises:
        MalformedReplyError: It says something else.
    """
    address = _parse_bean(body, _Place).rpc_address
    if not address:
        raise MalformedReplyError("JMX shows no RPC address")
    return address


def parse_started_ms(body: bytes) -> int:
    """Read the reply to STARTED_QUERY: ms since 1970 by the NameNode's clock.

    Raises:
        MalformedReplyError: It says something else.
    """
    return _parse_bean(body, _Started).started_ms


def parse_block_pool(body: bytes) -> str:
    """Read the reply to BLOCK_POOL_QUERY: such as "BP-1182375612-127.0.0.1-1795298171446".

    Raises:
        MalformedReplyError: It says something else.
    """
    block_pool = _parse_bean(body, _BlockPool).block_pool
    if not block_pool:
        raise MalformedReplyError("JMX shows no block pool yet")
    return block_pool


def parse_cluster_id(body: bytes) -> str:
    """Read the reply to CLUSTER_QUERY: such as "CID-4d7d46ab-158f-46e8-a16b-30382852d068".

    Raises:
        MalformedReplyError: It says something else.
    """
    cluster_id = _parse_bean(body, _Cluster).cluster_id
    if not cluster_id:
        raise MalformedReplyError("JMX shows no cluster id yet")
    return cluster_id


def parse_last_txid(body: bytes) -> int:
    """Read the reply to JOURNAL_QUERY.

    Raises:
        MalformedReplyError: It says something else.
    """
    text = _parse_bean(body, _Journal).text
    try:
        return int(msgspec.json.decode(text, type=_Transactions).last_txid)
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        raise MalformedReplyError(f"JMX shows no last transaction id: {text[:200]!r}") from exc


def _parse_bean(body: bytes, kind: type[_BeanT]) -> _BeanT:
    try:
        (bean,) = msgspec.json.decode(body, type=_Beans).beans
        return msgspec.json.decode(bean, type=kind)
    except (
        msgspec.DecodeError,
        ValueError,  # also when there is no bean, or more than one
        RecursionError,  # of msgspec, for what is nested a thousand deep
    ) as exc:
        raise MalformedReplyError(f"not the JMX bean that was asked for: {body[:200]!r}") from exc
