"""A Kerberos identity without a KDC: numbered tokens, and the matching proofs."""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.identity import KerberosIdentity, Negotiation


class CountedNegotiation(Negotiation):
    """Requires the proof that matches its number."""

    def __init__(self, number: int) -> None:
        self.field = f"Negotiate token{number}"
        self.proof = f"Negotiate proof{number}"

    async def check_proven(self, fields: Iterable[str]) -> None:
        """Compare the proof."""
        if list(fields) != [self.proof]:
            raise KerberosError("no proof")


class CountedIdentity(KerberosIdentity):
    """Returns numbered tokens."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host  # of the server, in lower case
        self.name = "svc@R"
        self.may_fall_back = False
        self.given = 0
        self.rechecks = 0
        self.failure = ""

    async def negotiation(self, host: str, timeout_s: float) -> Negotiation:
        """Return the next token."""
        assert host.lower() == self.host
        assert timeout_s == pytest.approx(6.0)
        self.given += 1
        if self.failure:
            raise KerberosError(self.failure)
        return CountedNegotiation(self.given)

    def recheck(self) -> None:
        """Count the call."""
        self.rechecks += 1


def acceptor(keytab: Path, service: str = "HTTP@localhost") -> Any:
    """Return a context that waits for an initiator's token."""
    gssapi = importlib.import_module("gssapi")
    name = gssapi.Name(service, gssapi.NameType.hostbased_service)
    credentials = gssapi.Credentials(name=name, usage="accept", store={"keytab": str(keytab)})
    return gssapi.SecurityContext(creds=credentials, usage="accept")
