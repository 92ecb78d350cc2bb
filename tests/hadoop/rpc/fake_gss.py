"""A GSS context without secrets: protected data is marked and numbered."""

import asyncio
from collections.abc import Callable

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.gss import GssContext
from nncache.hadoop.kerberos.identity import Initiator
from nncache.hadoop.kerberos.principal import Principal


class FakeContext(GssContext):
    """Complete after `rounds` tokens; wraps data as `kind + number + data`, which the other side unwraps."""

    def __init__(self, rounds: int = 2) -> None:
        self.rounds = rounds
        self.steps: list[tuple[str, bytes | None]] = []
        self._wrapped = self._unwrapped = 0

    @property
    def is_complete(self) -> bool:
        """Whether all tokens were exchanged."""
        return len(self.steps) >= self.rounds

    def step(self, server: Principal, challenge: bytes | None) -> bytes:
        """Return the next token; the last one is empty."""
        self.steps.append((str(server), challenge))
        return b"" if self.is_complete and self.rounds > 1 else b"token%d" % len(self.steps)

    def wrap(self, data: bytes, *, encrypts: bool) -> bytes:
        """Add the mark."""
        self._wrapped += 1
        return b"%s%03d" % (b"E" if encrypts else b"S", self._wrapped) + data

    def unwrap(self, data: bytes, *, is_encrypted: bool) -> bytes:
        """Check and remove the mark."""
        self._unwrapped += 1
        if data[:4] != b"%s%03d" % (b"E" if is_encrypted else b"S", self._unwrapped):
            raise KerberosError("it is not what the context expects")
        return data[4:]


class FakeTokens(Initiator):
    """The tokens of a context, each when the test releases it, or immediately."""

    def __init__(self, context: FakeContext) -> None:
        self.context: FakeContext = context
        self.failure: Exception | None = None
        self.held: list[Callable[[], None]] | None = None  # each token waits for its entry

    def step(self, server: Principal, challenge: bytes | None) -> "asyncio.Future[bytes]":
        """Return a future with the next token."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def settle() -> None:
            if future.done():
                return
            if self.failure is not None:
                future.set_exception(self.failure)
            else:
                future.set_result(self.context.step(server, challenge))

        if self.held is None:
            settle()
        else:
            self.held.append(settle)
        return future
