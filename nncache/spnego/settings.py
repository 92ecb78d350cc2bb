"""Settings of the authentication of clients by the proxy itself."""

from dataclasses import dataclass, field

from nncache.hadoop.kerberos.principal import parse_principal
from nncache.net.setting_error import SettingError

_SERVICE = "HTTP"  # RFC 4559, section 4.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminationSettings:
    """Whether and how the proxy accepts its clients' tickets itself.

    Raises:
        SettingError: the first invalid value.
    """

    spnego_principal: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Kerberos principals of the proxy's own web server, such as HTTP/_HOST@EXAMPLE.COM, one for each "
            "name by which clients call it. The proxy then accepts its clients' tickets (SPNEGO) itself, sets its own "
            "cookie, and calls the NameNodes as principal, with doas, which requires hadoop.proxyuser.NAME.hosts and "
            ".users or .groups there. Requires spnego_keytab, cookie_secret_file, principal and keytab. Empty: the "
            "NameNodes authenticate clients."
        },
    )
    spnego_keytab: str = field(
        default="",
        metadata={
            "help": "File with the keys of spnego_principal, mode 0400. It is read for each ticket: a replaced file "
            "needs no restart."
        },
    )
    cookie_secret_file: str = field(
        default="",
        metadata={
            "help": "File with the secrets that sign the proxy's cookies, mode 0400, one on each line. The first signs "
            "new cookies; each verifies those that it has signed. All proxies behind one name need the same secrets. A "
            "change takes effect within 5 seconds."
        },
    )
    cookie_validity_s: int = field(
        default=36_000,
        metadata={
            "help": "Seconds for which such a cookie is valid (hadoop.http.authentication.token.validity). A larger "
            "value requires fewer tickets, but a stolen cookie is valid for longer."
        },
    )
    max_handshakes: int = field(
        default=1024,
        metadata={
            "help": "Maximum number of tickets that are verified, or wait for it, at a time. Each client address gets "
            "its share of them, seven eighths if it is alone. 32 are verified at once; a ticket that has waited for 5 "
            "s gets 503."
        },
    )

    def __post_init__(self) -> None:
        for text in self.spnego_principal:
            try:
                service = parse_principal(text).service
            except ValueError as exc:
                raise SettingError("spnego_principal", text, str(exc)) from exc
            if service != _SERVICE or not parse_principal(text).host:
                raise SettingError(
                    "spnego_principal", text, "must be HTTP/HOST, as clients of web servers ask for"
                )
        for key in ("spnego_keytab", "cookie_secret_file"):
            if self.is_on is not bool(getattr(self, key)):
                wanted = (
                    "a file, since spnego_principal is given" if self.is_on else "given with spnego_principal"
                )
                raise SettingError(key, getattr(self, key) or "none", f"must be {wanted}")
        for key in ("cookie_validity_s", "max_handshakes"):
            if getattr(self, key) < 1:
                raise SettingError(key, getattr(self, key), "must be 1 or more")

    @property
    def is_on(self) -> bool:
        """Whether the proxy authenticates its clients."""
        return bool(self.spnego_principal)
