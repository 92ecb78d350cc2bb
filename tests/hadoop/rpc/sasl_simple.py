"""A handshake of several rounds: SIMPLE, agreed upon in SASL's own words. It shows that the seam is wide enough."""

from nncache.hadoop.errors import FramingError
from nncache.hadoop.rpc.framing import encode_frame, take_message
from nncache.hadoop.rpc.handshake import SASL_AUTH_PROTOCOL
from nncache.hadoop.rpc.messages import SASL_CALL_ID, encode_context, parse_message
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb


class SaslSimpleHandshake:
    """NEGOTIATE, then what the server offers, then INITIATE with SIMPLE, and at last the context."""

    auth_protocol = SASL_AUTH_PROTOCOL
    protection = None

    def __init__(self, client_id: bytes, user: str) -> None:
        self._client_id = client_id
        self._user = user
        self._is_complete = False
        self.offered: tuple[str, ...] = ()

    def is_complete(self) -> bool:
        """Tell whether the server has answered."""
        return self._is_complete

    def begin(self) -> bytes:
        """Ask what there is."""
        return self._frame(pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE))

    def receive(self, frame: bytes) -> bytes:
        """Choose SIMPLE among the offers."""
        encoded, start = take_message(frame, 0)
        header = parse_message(pb.RpcResponseHeader, encoded)
        if header.call_id != SASL_CALL_ID % 2**32 or header.status != pb.RpcResponseHeader.SUCCESS:
            raise FramingError("the server does not negotiate")
        offers = parse_message(pb.RpcSasl, take_message(frame, start)[0]).auths
        self.offered = tuple(offer.method for offer in offers)
        (simple,) = (offer for offer in offers if offer.method == "SIMPLE")
        self._is_complete = True
        initiate = self._frame(pb.RpcSasl(state=pb.RpcSasl.INITIATE, auths=[simple]))
        protocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
        return initiate + encode_context(self._client_id, self._user, None, protocol)

    def answer(self, token: bytes) -> bytes:
        """Never called: SIMPLE has no tokens."""
        raise AssertionError(token)

    def _frame(self, message: pb.RpcSasl) -> bytes:
        header = pb.RpcRequestHeader(
            rpc_kind=pb.RPC_PROTOCOL_BUFFER,
            rpc_op=pb.RpcRequestHeader.FINAL_PACKET,
            call_id=SASL_CALL_ID,
            client_id=self._client_id,
            retry_count=-1,
        )
        return encode_frame(header.SerializeToString(), message.SerializeToString())
