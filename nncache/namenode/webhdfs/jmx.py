"""The answers of `/jmx` and `/conf`: the beans and the settings that nncache reads from a NameNode.

Pure. Source: org.apache.hadoop.jmx.JMXJsonServlet, NameNode's beans and org.apache.hadoop.conf.ConfServlet of Hadoop
3.5.0; NameNodeInfo and JvmMetrics have only the attributes that have a meaning here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from nncache.hadoop.namespace import Namespace
from nncache.namenode.webhdfs.parameters import parse_query

VERSION: Final = "3.5.0"
"""The Hadoop release whose answers these are."""

_BADLY_ASKED: Final = {"result": "ERROR", "message": "query format is not as expected."}


@dataclass(frozen=True, slots=True, kw_only=True)
class JmxValues:
    """The values that the beans report."""

    namespace: Namespace
    rpc_address: str
    is_standby: bool
    started_ms: int
    transition_ms: int  # when it last became active or standby; 0: never since its start
    safe_mode: str  # the reason; "": off
    last_txid: int


def answer(query: str, facts: JmxValues) -> str:
    """Return the JSON of the beans that a query string selects."""
    asked = parse_query(query)
    if "get" in asked:
        pattern, separator, attribute = asked["get"][0].partition("::")
        if not separator or "::" in attribute:
            return _pretty(_BADLY_ASKED)
        found = [_one(bean, attribute) for bean in _beans(facts) if _is_meant(pattern, bean["name"])]
    else:
        pattern = asked["qry"][0] if "qry" in asked else "*:*"
        found = [bean for bean in _beans(facts) if _is_meant(pattern, bean["name"])]
    return _pretty({"beans": found} if ":" in pattern else {})


def conf(settings: Mapping[str, str]) -> str:
    """Return the JSON of these settings as the effective configuration."""
    properties = [
        {"key": key, "value": value, "isFinal": False, "resource": "hdfs-default.xml"}
        for key, value in settings.items()
    ]
    return msgspec.json.encode({"properties": properties}).decode()


def _beans(facts: JmxValues) -> tuple[dict[str, Any], ...]:
    transactions = {"MostRecentCheckpointTxId": "0", "LastAppliedOrWrittenTxId": str(facts.last_txid)}
    return (
        {
            "name": "Hadoop:service=NameNode,name=NameNodeStatus",
            "modelerType": "org.apache.hadoop.hdfs.server.namenode.NameNode",
            "State": "standby" if facts.is_standby else "active",
            "SecurityEnabled": False,
            "SlowPeersReport": None,
            "SlowDisksReport": None,
            "BytesWithFutureGenerationStamps": 0,
            "LastHATransitionTime": facts.transition_ms,
            "HostAndPort": facts.rpc_address,
            "NNRole": "NameNode",
        },
        {
            "name": "Hadoop:service=NameNode,name=NameNodeInfo",
            "modelerType": "org.apache.hadoop.hdfs.server.namenode.FSNamesystem",
            "Version": VERSION,
            "BlockPoolId": facts.namespace.block_pool,
            "SoftwareVersion": VERSION,
            "Safemode": facts.safe_mode,
            "ClusterId": facts.namespace.cluster_id,
            "JournalTransactionInfo": msgspec.json.encode(transactions).decode(),
            "NNStartedTimeInMillis": facts.started_ms,
        },
        {
            "name": "Hadoop:service=NameNode,name=JvmMetrics",
            "modelerType": "JvmMetrics",
            "tag.Context": "jvm",
            "tag.ProcessName": "NameNode",
            "tag.SessionId": None,
        },
    )


def _one(bean: dict[str, Any], attribute: str) -> dict[str, Any]:
    """Return a bean with only one of its attributes."""
    named = {key: bean[key] for key in ("name", "modelerType")}
    if attribute not in bean:
        return {**named, "result": "ERROR", "message": f"No attribute with name {attribute} was found."}
    return {**named, attribute: bean[attribute]}


def _is_meant(pattern: str, name: str) -> bool:
    """Tell whether a pattern of javax.management.ObjectName matches a bean's name."""
    wanted_domain, _, wanted = pattern.partition(":")
    domain, _, keys = name.partition(":")
    return fnmatchcase(domain, wanted_domain) and _fit(_properties(wanted), _properties(keys))


def _fit(wanted: Mapping[str, str], keys: Mapping[str, str]) -> bool:
    if "*" not in wanted and wanted.keys() != keys.keys():
        return False
    return all(key == "*" or fnmatchcase(keys.get(key, ""), value) for key, value in wanted.items())


def _properties(text: str) -> dict[str, str]:
    return {key: value for key, _, value in (part.partition("=") for part in text.split(","))}


def _pretty(value: object, indent: str = "") -> str:
    """Format JSON as Jackson's DefaultPrettyPrinter does."""
    match value:
        case dict():
            inner = f"{indent}  "
            parts = [f"{inner}{_pretty(key)} : {_pretty(each, inner)}" for key, each in value.items()]
            return "{\n" + ",\n".join(parts) + f"\n{indent}}}" if parts else "{ }"
        case list():
            return f"[ {', '.join(_pretty(each, indent) for each in value)} ]" if value else "[ ]"
        case _:
            return msgspec.json.encode(value).decode()
