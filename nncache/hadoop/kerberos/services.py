"""The principals for which an nncache service accepts tickets, and their keys."""

import socket
from collections.abc import Iterable

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import gss
from nncache.hadoop.kerberos.krb5_library import default_realm
from nncache.hadoop.kerberos.principal import Principal, on_host, parse_principal
from nncache.net import secret_file

THE_KEYS = "the keys of spnego_principal, a keytab"


def services_of(texts: Iterable[str]) -> tuple[Principal, ...]:
    """Return the principals with `_HOST` and the realm filled in.

    Raises KerberosError: krb5.conf names no default realm.
    """
    realm, host = default_realm(), socket.getfqdn()
    named = (on_host(parse_principal(text), host) for text in texts)
    return tuple(Principal(each.service, each.host, each.realm or realm) for each in named)


def fault_of_keytab(keytab: str, services: Iterable[Principal]) -> str:
    """Return why tickets for these services cannot be accepted with a keytab, and what to do; "" if they can."""
    if fault := secret_file.fault_of(keytab, THE_KEYS):
        return fault
    for service in services:
        try:
            gss.check_key(service, keytab)
        except KerberosError as error:
            return (
                f"holds no key of {service}, so that each ticket for it is refused ({error}; klist -kt {keytab} shows "
                "which it has): export that key into the file (ktadd), or correct spnego_principal"
            )
    return ""
