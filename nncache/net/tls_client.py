"""The certificates that a client trusts."""

import ssl

from nncache.net.setting_error import SettingError


def client_context(key: str, ca: str) -> ssl.SSLContext:
    """Return a client's TLS context: TLS 1.2 or 1.3, host name checks, and the authorities in the file `ca`.

    Without a file it trusts those of the operating system. `key` is the setting that names the file.

    Raises SettingError: the file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks host names
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not ca:
        context.load_default_certs()
        return context
    # As in Java's truststores, an intermediate authority may be a trust anchor.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(ca)
    except ssl.SSLError as exc:
        pem = "holds no certificate in PEM form (keytool -exportcert -rfc writes it)"
        raise SettingError(key, ca, f"{pem}: {exc.reason or exc}") from exc
    except OSError as exc:
        raise SettingError(key, ca, f"cannot be read: {exc.strerror or exc}") from exc
    return context
