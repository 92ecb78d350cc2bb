"""The user of calls to a NameNode over RPC."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RpcUser:
    """A user; `real_name` is the user who impersonates them, as with `doas` of WebHDFS."""

    name: str
    real_name: str | None = None
