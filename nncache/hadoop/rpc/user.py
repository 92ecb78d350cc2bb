"""As whom a NameNode is asked over RPC."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RpcUser:
    """A user; with `real_name` that one asks for them, as with `doas` of WebHDFS."""

    name: str
    real_name: str | None = None
