"""Say in one line why an HTTP server gave no answer. (hadoop/http_failure.py)"""

import os
import socket

import aiohttp


def why_unanswered(exc: BaseException) -> str:
    """Return what the system or the peer did; aiohttp's own texts name ssl where there is none."""
    match exc:
        case aiohttp.ClientConnectorDNSError():
            return f"host {exc.host} cannot be resolved: {_of_system(exc.os_error)}"
        case aiohttp.ClientConnectorError():
            return f"cannot connect to {exc.host}:{exc.port}: {_of_system(exc.os_error)}"
        case TimeoutError():
            return "no answer in time"
        case aiohttp.ClientResponseError():  # of the parser
            return "it answers, and not in HTTP: is this another port, such as one of Hadoop RPC or of TLS?"
        case aiohttp.ServerDisconnectedError() | ConnectionResetError():
            return "it closed the connection without an answer, as a server that ends or a TLS port does"
        case OSError() if exc.strerror:
            return _of_system(exc)
        case _:
            return str(exc) or type(exc).__name__


def _of_system(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return f"[Errno {error.errno}] {os.strerror(error.errno)}"  # asyncio puts the address there instead
