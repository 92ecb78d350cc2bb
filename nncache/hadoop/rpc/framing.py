"""Split the bytes of a Hadoop RPC connection into frames, and encode messages into frames.

Sans-I/O: `nncache.hadoop.rpc.wire` reads and writes. Source: org.apache.hadoop.ipc.{Client,Server,RpcConstants}
of Hadoop 3.4.1 and 3.5.0, measured there.

A connection begins with a preamble of seven bytes from the client. Then both sides send frames. A frame is a length of
four bytes (big-endian) and that many bytes of payload: one or more messages, each after its own length as a varint.
"""

from nncache.hadoop.errors import FramingError

LENGTH_BYTES = 4
MAX_FRAME_BYTES = 128 * 1024 * 1024
"""Hadoop's own limit, `ipc.maximum.data.length` and `ipc.maximum.response.length`."""

MAX_VARINT_BYTES = 5
"""A length has at most 32 bits; each byte of a varint carries seven."""

IPC_VERSION = 9

PREAMBLE_BYTES = 7

_MORE = 0x80  # the bit of a varint's byte that announces another byte
_PREAMBLE = b"hrpc" + bytes((IPC_VERSION, 0))  # magic, version of Hadoop IPC, service class


def encode_preamble(auth_protocol: int) -> bytes:
    """Encode a client's preamble; `auth_protocol` is 0 for none and 0xDF for SASL."""
    return _PREAMBLE + bytes((auth_protocol,))


def parse_preamble(preamble: bytes) -> int:
    """Return the `auth_protocol` of a client's preamble. Raises FramingError: these bytes are no preamble."""
    if len(preamble) != PREAMBLE_BYTES or preamble[:5] != _PREAMBLE[:5]:
        raise FramingError(f"{preamble!r} is not how a client of Hadoop IPC {IPC_VERSION} begins")
    return preamble[6]


def encode_frame(*messages: bytes) -> bytes:
    """Encode one frame that holds these messages, each already serialised."""
    parts: list[bytes] = []
    for message in messages:
        parts.append(_encode_varint(len(message)))
        parts.append(message)
    length = sum(map(len, parts))
    return b"".join((length.to_bytes(LENGTH_BYTES, "big"), *parts))


def take_message(frame: bytes, start: int) -> tuple[bytes, int]:
    """Return the message at `start`, and the position of the next one.

    Raises FramingError: the frame ends within the message or its length, or the length is too long.
    """
    length = 0
    for index in range(MAX_VARINT_BYTES):
        position = start + index
        if position >= len(frame):
            raise FramingError(f"a frame of {len(frame)} bytes ends within a length at byte {position}")
        byte = frame[position]
        length |= (byte & 0x7F) << (7 * index)
        if byte < _MORE:
            end = position + 1 + length
            if end > len(frame):
                raise FramingError(
                    f"a message of {length} bytes does not fit its frame of {len(frame)} bytes"
                )
            return frame[position + 1 : end], end
    raise FramingError(f"a length at byte {start} is longer than {MAX_VARINT_BYTES} bytes")


class FrameSplitter:
    """Buffers bytes as they arrive and returns the complete frames, one by one.

    Invariants:
        I1  The frames and the error do not depend on how the bytes are split into pieces.
        I2  The buffer holds only bytes that were received and not yet returned in a frame.
        I3  After an error, every call raises it: after a wrong length the position of the next frame is unknown.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._pending = bytearray()  # bytes that were not returned yet

    def receive(self, data: bytes) -> None:
        """Append the next bytes to the buffer."""
        self._pending += data

    def next_frame(self) -> bytes | None:
        """Return the next frame, without its length; None if more bytes must arrive first.

        Raises FramingError: the length of the frame exceeds the limit.
        """
        if len(self._pending) < LENGTH_BYTES:
            return None
        prefix = bytes(self._pending[:LENGTH_BYTES])
        length = int.from_bytes(prefix, "big")
        if length > self._max_frame_bytes:
            hint = "; this is not a Hadoop RPC port" if prefix in _FOREIGN_PREFIXES else ""
            raise FramingError(
                f"a frame of {length} bytes was announced, {self._max_frame_bytes} are allowed{hint}"
            )
        end = LENGTH_BYTES + length
        if len(self._pending) < end:
            return None
        frame = bytes(self._pending[LENGTH_BYTES:end])
        del self._pending[:end]
        return frame


_FOREIGN_PREFIXES = frozenset({b"HTTP", b"SSH-", b"<htm", b"<!DO"})
"""The first bytes from servers of other protocols, for a port that was configured by mistake."""


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= _MORE:
        encoded.append(value & 0x7F | _MORE)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
