"""The bytes of requests."""


def request(method: str, target: str, *fields: str) -> bytes:
    """Return the bytes of a request without a body, its target as it stands."""
    lines = (f"{method} {target} HTTP/1.1", "Host: nncache", *fields)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def webhdfs(method: str, path: str, op: str, user: str = "carol", extra: str = "") -> bytes:
    """Return the bytes of a WebHDFS call; `extra` are further parameters, beginning with "&"."""
    return request(method, f"/webhdfs/v1{path}?op={op}&user.name={user}{extra}")
