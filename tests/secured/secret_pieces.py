"""By what a secret would be known in a text, whoever has cut it."""

_SIZE = 16
_STEP = 8


def pieces(secret: str) -> list[bytes]:
    """Return sixteen characters in a row of its middle, at each eighth place."""
    return pieces_of_bytes(secret[len(secret) // 4 : -4].encode())


def pieces_of_bytes(secret: bytes) -> list[bytes]:
    """Return sixteen bytes in a row, at each eighth place."""
    return [secret[start : start + _SIZE] for start in range(0, len(secret) - _SIZE, _STEP)]
