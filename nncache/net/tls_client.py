"""Whose certificates a client believes."""

import ssl

from nncache.net.setting_error import SettingError


def client_context(key: str, ca: str) -> ssl.SSLContext:
    """Return how a client checks servers: TLS 1.2 or 1.3, their names, and the authorities in the file `ca`.

    Without a file those of the operating system are believed. `key` is the setting that names it.

    Raises SettingError: the file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks host names
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not ca:
        context.load_default_certs()
        return context
    # As in Java's truststores, an authority is believed that was itself certified by another one.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(ca)
    except ssl.SSLError as exc:
        pem = "holds no certificate in PEM form (keytool -exportcert -rfc writes it)"
        raise SettingError(key, ca, f"{pem}: {exc.reason or exc}") from exc
    except OSError as exc:
        raise SettingError(key, ca, f"cannot be read: {exc.strerror or exc}") from exc
    return context
