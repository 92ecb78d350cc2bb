"""Parts of a secret by which it is recognized in a text, even if it was cut."""

_SIZE = 16
_STEP = 8


def pieces(secret: str) -> list[bytes]:
    """Return pieces of sixteen characters from the middle of a secret, every eight characters."""
    return pieces_of_bytes(secret[len(secret) // 4 : -4].encode())


def pieces_of_bytes(secret: bytes) -> list[bytes]:
    """Return pieces of sixteen bytes, every eight bytes."""
    return [secret[start : start + _SIZE] for start in range(0, len(secret) - _SIZE, _STEP)]
