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
            "name by which clients call it. With it the proxy accepts its clients' tickets (SPNEGO) itself, gives "
            "them a cookie of its own, and asks the NameNodes as principal, with doas: that needs "
            "hadoop.proxyuser.NAME.hosts and .users or .groups there. Needs spnego_keytab, cookie_secret_file, "
            "principal and keytab. Empty: the NameNodes authenticate."
        },
    )
    spnego_keytab: str = field(
        default="",
        metadata={
            "help": "File with the keys of spnego_principal, mode 0400; read for each ticket, so that one that is "
            "replaced needs no restart."
        },
    )
    cookie_secret_file: str = field(
        default="",
        metadata={
            "help": "File with the secrets that sign the proxy's cookies, mode 0400, one a line: the first signs, each "
            "is good for what it has signed. The same for all proxies behind one name; a change is taken up within 5 "
            "seconds."
        },
    )
    cookie_validity_s: int = field(
        default=36_000,
        metadata={
            "help": "Seconds for which such a cookie is good (hadoop.http.authentication.token.validity). A larger "
            "value means fewer tickets, and a stolen cookie that is good for longer."
        },
    )
    max_handshakes: int = field(
        default=1024,
        metadata={
            "help": "Tickets that are judged, or wait for it, at a time; of those each client address has its share, "
            "seven eighths if it is alone. 32 are judged at once; one that has waited for 5 s is refused with 503."
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
