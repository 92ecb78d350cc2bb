"""Exceptions in a NameNode's replies over WebHDFS or RPC, and their classification.

Source: `org.apache.hadoop.hdfs.web.JsonUtil.toJsonString(Exception)`, `org.apache.hadoop.util.HttpExceptionUtils`.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import msgspec

from nncache.hadoop.unreadable_json import UNREADABLE_JSON


class Verdict(Enum):
    """The meaning of a RemoteException for the caller."""

    STANDBY = auto()  # not the active NameNode: the call was not executed, try another NameNode
    RETRIABLE = auto()  # not ready: the call was not executed, retry it
    SAFE_MODE = auto()  # reads work, writes do not
    FILE_NOT_FOUND = auto()
    ACCESS_CONTROL = auto()
    INVALID_TOKEN = auto()  # a delegation token that is cancelled, expired, forged or another cluster's
    OTHER = auto()


_VERDICTS: Final = {
    "StandbyException": Verdict.STANDBY,
    "ObserverRetryOnActiveException": Verdict.STANDBY,
    "RetriableException": Verdict.RETRIABLE,
    "SafeModeException": Verdict.SAFE_MODE,
    "FileNotFoundException": Verdict.FILE_NOT_FOUND,
    "AccessControlException": Verdict.ACCESS_CONTROL,
    "AuthorizationException": Verdict.ACCESS_CONTROL,  # a subclass; the caller may not impersonate `doas`
}
_INVALID_TOKEN: Final = "SecretManager$InvalidToken"  # noqa: S105 - a Java class
_SIMPLE_NAME: Final = re.compile(r"[^.$]*\Z")


@dataclass(frozen=True, slots=True)
class RemoteException:
    """An exception of the server, which is data and may be passed to the client."""

    exception: str  # the class name without its package
    java_class_name: str  # with its package; "" if the server names none
    message: str

    @property
    def verdict(self) -> Verdict:
        """Its classification: by its class name, or by the cause of a refused delegation token.

        WebHDFS returns SecurityException, and names the cause only in the message (measured, 3.4.1 and 3.5.0):
        "Failed to obtain user group information: org.apache.hadoop.security.token.SecretManager$InvalidToken: ...".
        A 3.5.0 standby says "...InvalidToken: StandbyException"; a 3.4.1 one returns StandbyException (HDFS-6475).
        """
        verdict = verdict_of(self.java_class_name or self.exception)
        if self.exception != "SecurityException" or _INVALID_TOKEN not in self.message:
            return verdict
        behind = verdict_of(self.message.rpartition(_INVALID_TOKEN)[2].strip(": "))
        return behind if behind in {Verdict.STANDBY, Verdict.RETRIABLE} else Verdict.INVALID_TOKEN


class _Fields(msgspec.Struct, frozen=True, rename="camel"):
    exception: str
    java_class_name: str | None = None
    message: str | None = None  # null if the Java exception had none


class _Body(msgspec.Struct, frozen=True):
    remote: _Fields = msgspec.field(name="RemoteException")


_DECODER: Final = msgspec.json.Decoder(_Body)


def verdict_of(class_name: str) -> Verdict:
    """Return the verdict of a Java class name, with or without its package."""
    simple = _SIMPLE_NAME.search(class_name)
    return _VERDICTS.get(simple[0], Verdict.OTHER) if simple else Verdict.OTHER


def parse_remote_exception(body: bytes) -> RemoteException | None:
    """Parse a reply body, compact or pretty-printed; None if it is not a RemoteException."""
    try:
        remote = _DECODER.decode(body).remote
    except UNREADABLE_JSON:
        return None
    return RemoteException(remote.exception, remote.java_class_name or "", remote.message or "")
