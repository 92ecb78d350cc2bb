"""Tickets in memory, and their end."""

import ctypes

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import memory_cache
from nncache.hadoop.kerberos.gss import ticket_from_cache, ticket_from_keytab
from nncache.hadoop.kerberos.memory_cache import destroy, new_cache
from nncache.hadoop.kerberos.principal import Principal
from nncache.testbed.spec import REALM
from tests.kerberos import KdcServer


def test_a_cache_is_gone_once_it_is_destroyed(realm: KdcServer) -> None:
    """And each has a name of its own."""
    cache, other = new_cache(), new_cache()
    assert cache != other
    ticket_from_keytab(Principal("alice", realm=REALM), str(realm.keytab("alice")), cache)
    assert ticket_from_cache(None, cache).lifetime_s > 0
    assert destroy(cache)
    with pytest.raises(KerberosError):
        ticket_from_cache(None, cache)


def test_without_libkrb5_nothing_is_destroyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with another implementation of Kerberos: tickets stay, and end."""

    def fail(_: str) -> None:
        raise OSError("not found")

    monkeypatch.setattr(ctypes, "CDLL", fail)
    assert not destroy(memory_cache.new_cache())
