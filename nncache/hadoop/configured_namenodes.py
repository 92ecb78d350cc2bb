"""The NameNodes in a cluster's configuration.

Source: org.apache.hadoop.hdfs.DFSUtil, DFSUtilClient and HAUtil, 3.5.0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from nncache.hadoop.configuration import Configuration
from nncache.net.addresses import split_address
from nncache.net.setting_error import SettingError

DEFAULT_NAMESERVICE: Final = "default"
"""The nameservice of a cluster without `dfs.nameservices`."""

_RPC_KEY: Final = "dfs.namenode.rpc-address"
_RPC_PORT: Final = 8020
_PRINCIPAL_KEY: Final = "dfs.namenode.kerberos.principal"
_POLICY_KEY: Final = "dfs.http.policy"
_POLICIES: Final[Mapping[str, frozenset[bool]]] = {
    "HTTP_ONLY": frozenset({False}),
    "HTTP_AND_HTTPS": frozenset({False, True}),
    "HTTPS_ONLY": frozenset({True}),
}
"""The protocols of the web server by policy: TLS (True), plain HTTP (False) (org.apache.hadoop.http.HttpConfig)."""

_WEB_KEYS: Final[Mapping[bool, tuple[str, str]]] = {
    False: ("dfs.namenode.http-address", "0.0.0.0:9870"),
    True: ("dfs.namenode.https-address", "0.0.0.0:9871"),
}
"""With TLS or not: the key of the address, and its default."""

_SHARED_EDITS_KEY: Final = "dfs.namenode.shared.edits.dir"
_RESOLVED_KEY: Final = "dfs.namenode.edits.qjournals.resolution-enabled"
_JOURNALNODE_PORT: Final = 8485

_WILDCARDS: Final = frozenset({"0.0.0.0", "::", "0:0:0:0:0:0:0:0"})  # noqa: S104 - not listened on: recognised


_Suffix: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfiguredNameNodes:
    """The NameNodes of a nameservice, "host:port" each, both lists in the same order; principal "" if there is none."""

    nameservice: str
    http: tuple[str, ...]
    rpc: tuple[str, ...]
    principal: str = ""
    tls: bool = False  # `http` are HTTPS addresses


@dataclass(frozen=True, slots=True)
class QuorumJournal:
    """A journal and all JournalNodes that keep it, "host:port" each."""

    addresses: tuple[str, ...]
    journal_id: str


def parse_quorum_journal(key: str, uri: str) -> QuorumJournal:
    """Parse qjournal://host:port;host:port;host:port/JOURNAL (QuorumJournalManager.getLoggerAddresses).

    Raises SettingError: the URI has another form, or names a JournalNode twice.
    """
    scheme, separator, rest = uri.partition("://")
    hosts, _, journal_id = rest.partition("/")
    addresses = tuple(
        _with_port(key, host.strip(), _JOURNALNODE_PORT) for host in hosts.split(";") if host.strip()
    )
    if scheme != "qjournal" or not separator or not addresses or not journal_id or "/" in journal_id:
        raise SettingError(key, uri, "must be qjournal://host:port;host:port;host:port/JOURNAL")
    if len(set(addresses)) < len(addresses):
        raise SettingError(key, uri, "must name each JournalNode once")
    return QuorumJournal(addresses, journal_id)


def configured_journal(values: Configuration, nameservice: str) -> str:
    """Return the URI of the journal that the NameNodes of a nameservice share; "" if it does not name JournalNodes.

    DFSUtil.setGenericConf: the key with the most specific suffix has precedence. A name that stands for several
    JournalNodes would be taken for a single one, which is the majority of itself.
    """
    if (values.get(_RESOLVED_KEY) or "").lower() == "true":
        return ""
    ids = values.names(f"dfs.ha.namenodes.{nameservice}")
    suffixes = (*(f".{nameservice}.{each}" for each in ids), f".{nameservice}", "")
    uri = next((found for each in suffixes if (found := values.get(_SHARED_EDITS_KEY + each))), "")
    return uri if uri.startswith("qjournal://") else ""


def configured_nameservice(values: Configuration) -> str:
    """Return the nameservice that the clients of this configuration use.

    Raises SettingError: there are several, and the configuration does not select one.
    """
    nameservices = values.names("dfs.nameservices")
    if not nameservices:
        return DEFAULT_NAMESERVICE
    authority = urlsplit(values.get("fs.defaultFS") or "").netloc
    own = values.names("dfs.internal.nameservices")
    for name in (authority, values.get("dfs.nameservice.id")):
        if name in nameservices:
            return name
    for names in (own, nameservices):
        if len(names) == 1:
            return names[0]
    several = ", ".join(own or nameservices)
    raise SettingError("dfs.nameservices", several, "are several; say with nameservice which one is meant")


def configured_namenodes(
    values: Configuration, nameservice: str | None = None, *, tls: bool | None = None
) -> ConfiguredNameNodes:
    """Return the NameNodes of a nameservice; None selects the clients' own nameservice.

    `tls` selects HTTPS addresses, or with False those of plain HTTP; None: HTTPS only if plain HTTP is not served.

    Raises SettingError: the configuration does not name them, or they do not serve the selected protocol.
    """
    is_tls = _with_tls(values, wanted=tls)
    known = values.names("dfs.nameservices")
    if nameservice is None:
        nameservice = configured_nameservice(values)
    elif known and nameservice not in known:
        raise SettingError("nameservice", nameservice, f"must be one of dfs.nameservices: {', '.join(known)}")
    if nameservice not in known:
        return _together(nameservice, [_rpc(values, ())], values, is_tls=is_tls)
    ids = values.names(f"dfs.ha.namenodes.{nameservice}")
    suffixes: list[_Suffix] = [(nameservice, each) for each in ids] or [(nameservice,)]
    return _together(nameservice, [_rpc(values, suffix) for suffix in suffixes], values, is_tls=is_tls)


def _with_tls(values: Configuration, *, wanted: bool | None) -> bool:
    """Return whether HTTPS addresses are selected."""
    policy = values.get(_POLICY_KEY) or "HTTP_ONLY"
    served = _POLICIES.get(policy.upper())
    if served is None:
        raise SettingError(_POLICY_KEY, policy, f"must be one of {', '.join(_POLICIES)}")
    if wanted is None:
        return False not in served
    if wanted not in served:
        text = str(wanted).lower()
        raise SettingError("namenode_tls", text, f"does not fit dfs.http.policy, which is {policy}")
    return wanted


def _together(
    nameservice: str, rpc: Sequence[tuple[_Suffix, str]], values: Configuration, *, is_tls: bool
) -> ConfiguredNameNodes:
    http = tuple(_web(values, suffix, address, is_tls=is_tls) for suffix, address in rpc)
    suffixed = f"{_PRINCIPAL_KEY}.{nameservice}"
    principal = values.get(suffixed) or values.get(_PRINCIPAL_KEY) or ""
    return ConfiguredNameNodes(nameservice, http, tuple(address for _, address in rpc), principal, is_tls)


def _rpc(values: Configuration, suffix: _Suffix) -> tuple[_Suffix, str]:
    """Return the RPC address of one NameNode, with the suffix of its keys."""
    key = ".".join((_RPC_KEY, *suffix))
    address = values.get(key)
    if address is not None:
        return suffix, _with_port(key, address, _RPC_PORT)
    if len(suffix) > 1:  # each NameNode of an HA pair has its own
        raise SettingError(key, "absent", "must be host:port of that NameNode")
    default = values.get("fs.defaultFS") or "file:///"
    url = urlsplit(default)
    known = values.names("dfs.nameservices")
    if suffix and (
        len(known) > 1 or url.netloc in known
    ):  # fs.defaultFS is not an address, or perhaps another nameservice's
        name = suffix[0]
        raise SettingError(
            key,
            "absent",
            f"must be host:port of the NameNode of {name}; if it has several, dfs.ha.namenodes.{name} must name them "
            "(nn1,nn2), and each needs addresses of its own",
        )
    if url.scheme != "hdfs" or not url.netloc:
        raise SettingError("fs.defaultFS", default, f"names no NameNode, and {key} is absent")
    return suffix, _with_port("fs.defaultFS", url.netloc, _RPC_PORT)


def _web(values: Configuration, suffix: _Suffix, rpc: str, *, is_tls: bool) -> str:
    """Return the HTTP or HTTPS address, with the host of the RPC address if its own is a wildcard."""
    every, default = _WEB_KEYS[is_tls]
    keys = (".".join((every, *suffix)), every)
    key, address = next(
        ((key, found) for key in keys if (found := values.get(key)) is not None), (every, default)
    )
    host, port = split_address(_with_port(key, address, 0))
    return f"{rpc.rpartition(':')[0]}:{port}" if host in _WILDCARDS else address


def _with_port(key: str, address: str, port: int) -> str:
    """Return host:port, with this port if the text has none. Raises SettingError: it is not an address."""
    if port and ":" not in address.rpartition("]")[2]:
        address = f"{address}:{port}"
    try:
        split_address(address)
    except ValueError as error:
        raise SettingError(key, address, str(error)) from error
    return address
