"""Calls of libkrb5 that GSS-API lacks: return the default realm, and destroy a credential cache in memory.

A daemon gets a new ticket every few hours for years: without this, all old tickets would stay in the process.
"""

import ctypes
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nncache.hadoop.errors import KerberosError

_LIBRARY: Final = "libkrb5.so.3"

_numbers = itertools.count(1)


@contextmanager
def _library() -> Iterator[tuple[ctypes.CDLL, ctypes.c_void_p]]:
    """Yield the library and a context. Raises KerberosError: libkrb5 is missing, or krb5.conf cannot be read."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as exc:
        raise KerberosError(f"{_LIBRARY} is not there: apt-get install libkrb5-3") from exc
    context = ctypes.c_void_p()
    if library.krb5_init_context(ctypes.byref(context)) != 0:
        raise KerberosError("krb5.conf cannot be read: see that KRB5_CONFIG or /etc/krb5.conf is right")
    try:
        yield library, context
    finally:
        library.krb5_free_context(context)


def default_realm() -> str:
    """Return the default realm of krb5.conf (krb5_get_default_realm).

    Raises KerberosError: krb5.conf names no realm, or libkrb5 is missing.
    """
    realm = ctypes.c_char_p()
    with _library() as (library, context):
        if library.krb5_get_default_realm(context, ctypes.byref(realm)) != 0 or realm.value is None:
            raise KerberosError("krb5.conf names no default_realm ([libdefaults])")
        found = realm.value.decode()
        library.krb5_free_default_realm(context, realm)
        return found


def new_cache() -> str:
    """Return an unused name of a credential cache in memory."""
    return f"MEMORY:nncache-{os.getpid()}-{next(_numbers)}"


def destroy(cache: str) -> bool:
    """Destroy a cache in memory and its tickets; open contexts stay valid. Return False if libkrb5 cannot do it."""
    opened = ctypes.c_void_p()
    try:
        with _library() as (library, context):
            is_found = library.krb5_cc_resolve(context, cache.encode(), ctypes.byref(opened)) == 0
            return is_found and bool(library.krb5_cc_destroy(context, opened) == 0)
    except KerberosError:
        return False
