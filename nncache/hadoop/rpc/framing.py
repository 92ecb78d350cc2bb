"""Turn bytes of a Hadoop RPC connection into frames, and messages into bytes.

Sans-I/O: `nncache.hadoop.rpc.wire` reads and writes. Source: org.apache.hadoop.ipc.{Client,Server,RpcConstants}
of Hadoop 3.4.1 and 3.5.0, measured there.

A connection begins with a preamble of seven bytes from the client. After it both sides send frames:
a length of four bytes (big-endian), then that many bytes, which hold one or more messages, each behind
its own length as a varint.
"""

from nncache.hadoop.errors import FramingError

LENGTH_BYTES = 4
MAX_FRAME_BYTES = 128 * 1024 * 1024
"""Hadoop's own limit, `ipc.maximum.data.length` and `ipc.maximum.response.length`."""

MAX_VARINT_BYTES = 5
"""A length fits 32 bits, of which a varint carries seven in each byte."""

IPC_VERSION = 9

PREAMBLE_BYTES = 7

_MORE = 0x80  # the bit of a varint's byte that says that another follows
_PREAMBLE = b"hrpc" + bytes((IPC_VERSION, 0))  # magic, version of Hadoop IPC, service class


def encode_preamble(auth_protocol: int) -> bytes:
    """Render what a client says first; `auth_protocol` is 0 for none and 0xDF for SASL."""
    return _PREAMBLE + bytes((auth_protocol,))


def parse_preamble(preamble: bytes) -> int:
    """Return the `auth_protocol` of what a client says first. Raises FramingError: it is no such thing."""
    if len(preamble) != PREAMBLE_BYTES or preamble[:5] != _PREAMBLE[:5]:
        raise FramingError(f"{preamble!r} is not how a client of Hadoop IPC {IPC_VERSION} begins")
    return preamble[6]


def encode_frame(*messages: bytes) -> bytes:
    """Render one frame that holds these messages, each already serialised."""
    parts: list[bytes] = []
    for message in messages:
        parts.append(_encode_varint(len(message)))
        parts.append(message)
    length = sum(map(len, parts))
    return b"".join((length.to_bytes(LENGTH_BYTES, "big"), *parts))


def take_message(frame: bytes, start: int) -> tuple[bytes, int]:
    """Read the message that begins at `start`, and say where the next one begins.

    Raises FramingError: the frame ends before its message does, or the length is no length.
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
    """Collects bytes as they arrive; gives out the frames that they complete, one by one.

    Invariants:
        I1  However the bytes are cut into pieces, the same frames and the same error come out.
        I2  It holds no more than it was given and has not given out.
        I3  Once it has raised, it stays broken: after a wrong length nothing can be understood.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._pending = bytearray()  # bytes that were not given out yet

    def receive(self, data: bytes) -> None:
        """Take the next bytes."""
        self._pending += data

    def next_frame(self) -> bytes | None:
        """Give out the next frame, without its length; None until more bytes arrive.

        Raises FramingError: a frame is announced that is larger than allowed.
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
"""First bytes of servers that answer on a port given by mistake."""


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= _MORE:
        encoded.append(value & 0x7F | _MORE)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
