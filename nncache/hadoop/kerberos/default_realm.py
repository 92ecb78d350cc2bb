"""Ask libkrb5 for this host's default realm."""

import ctypes
from typing import Final

from nncache.hadoop.errors import KerberosError

_LIBRARY: Final = "libkrb5.so.3"


def default_realm() -> str:
    """Return the default realm of krb5.conf (krb5_get_default_realm).

    Raises:
        KerberosError: There is none, or no libkrb5.
    """
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as exc:
        raise KerberosError(f"{_LIBRARY} is not there: apt-get install libkrb5-3") from exc
    context, realm = ctypes.c_void_p(), ctypes.c_char_p()
    if library.krb5_init_context(ctypes.byref(context)) != 0:
        raise KerberosError("krb5.conf cannot be read: see that KRB5_CONFIG or /etc/krb5.conf is right")
    try:
        if library.krb5_get_default_realm(context, ctypes.byref(realm)) != 0 or realm.value is None:
            raise KerberosError("krb5.conf names no default_realm ([libdefaults])")
        found = realm.value.decode()
        library.krb5_free_default_realm(context, realm)
        return found
    finally:
        library.krb5_free_context(context)
