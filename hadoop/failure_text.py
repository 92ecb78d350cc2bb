"""Say in a few words why a call over HTTP got no answer. (hadoop/failure_text.py)"""

import os

import aiohttp


def failure_text(exc: BaseException) -> str:
    """Return the reason, without what aiohttp adds for its own: "ssl:default" stands there where there is no TLS."""
    match exc:
        case TimeoutError() if not str(exc):
            return "no answer in time"
        case aiohttp.ClientConnectorError(host=host, port=port, os_error=error):
            where = f"[{host}]:{port}" if ":" in (host or "") else f"{host}:{port}"
            number = error.errno or 0  # below 0, and in words of its own, from the resolver
            reason = os.strerror(number) if number > 0 else error.strerror or str(error)
            return f"cannot connect to {where}: {reason}"
        case _:
            return str(exc) or type(exc).__name__
