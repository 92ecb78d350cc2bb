"""Credential caches in this process's memory, and their end.

GSS-API has no call that destroys a credential cache, and a daemon gets a new ticket every few hours for years: what
was got before would stay. So libkrb5, which gssapi has loaded, is asked itself.
"""

import ctypes
import itertools
import os
from typing import Final

_numbers = itertools.count(1)

_LIBRARY: Final = "libkrb5.so.3"


def new_cache() -> str:
    """Return the name of a credential cache in memory that was not used before."""
    return f"MEMORY:nncache-{os.getpid()}-{next(_numbers)}"


def destroy(cache: str) -> bool:
    """Forget a cache in memory and its tickets; contexts that have begun go on. False where libkrb5 is not found."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return False
    context, opened = ctypes.c_void_p(), ctypes.c_void_p()
    if library.krb5_init_context(ctypes.byref(context)) != 0:
        return False
    try:
        if library.krb5_cc_resolve(context, cache.encode(), ctypes.byref(opened)) != 0:
            return False
        return bool(library.krb5_cc_destroy(context, opened) == 0)
    finally:
        library.krb5_free_context(context)
