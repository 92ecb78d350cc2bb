"""Say in one line why an HTTP server gave no answer."""

import os
import socket
import ssl

import aiohttp

from nncache.net.tls_failure import why_no_tls


def why_unanswered(exc: BaseException) -> str:
    """Return the system's or the peer's error; aiohttp's own messages name ssl even without TLS."""
    if (error := tls_error_of(exc)) is not None:
        return why_no_tls(error)
    match exc:
        case aiohttp.ClientConnectorDNSError():
            return f"host {exc.host} cannot be resolved: {_of_system(exc.os_error)}"
        case aiohttp.ClientConnectorError():
            return f"cannot connect to {exc.host}:{exc.port}: {_of_system(exc.os_error)}"
        case TimeoutError():
            return "no answer in time"
        case aiohttp.ClientResponseError():  # of the parser
            return "it answers, and not in HTTP: is it another port, of Hadoop RPC or of TLS (namenode_tls)?"
        case aiohttp.ServerDisconnectedError() | ConnectionResetError():
            return "it closed the connection without an answer, as a server that ends or a TLS port (namenode_tls) does"
        case OSError() if exc.strerror:
            return _of_system(exc)
        case _:
            return str(exc) or type(exc).__name__


def tls_error_of(exc: BaseException) -> ssl.SSLError | None:
    """Return the TLS error of a server; None if the failure is not one of TLS."""
    match exc:
        case aiohttp.ClientConnectorCertificateError(certificate_error=ssl.SSLError() as error):
            return error
        case aiohttp.ClientConnectorError(os_error=ssl.SSLError() as error) | (ssl.SSLError() as error):
            return error
        case _:
            return None


def _of_system(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return f"[Errno {error.errno}] {os.strerror(error.errno)}"  # asyncio puts the address there instead
