"""The server's side of a GSS context, by gssapi itself."""

import importlib
from pathlib import Path
from typing import Any


def acceptor(keytab: Path, service: str = "HTTP@localhost") -> Any:
    """Return a context that waits for an initiator's token."""
    gssapi = importlib.import_module("gssapi")
    name = gssapi.Name(service, gssapi.NameType.hostbased_service)
    credentials = gssapi.Credentials(name=name, usage="accept", store={"keytab": str(keytab)})
    return gssapi.SecurityContext(creds=credentials, usage="accept")
