"""Settings of the access to admin pages."""

from dataclasses import dataclass, field
from pathlib import Path

from nncache.admin.access import Access, Token
from nncache.errors import StartError
from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.net.secret_file import fault_of, shown
from nncache.net.setting_error import SettingError
from nncache.tls_server.certificate import CertificateFiles, ServerCertificate

_MIN_TOKEN_BYTES = 16
_HTTPS = "https://"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    """Access to the operators' pages."""

    admin_token_file: str = field(
        default="",
        metadata={
            "help": "File with the tokens for /purge and the pages that show paths and users (/status, /explain, "
            "/sample, /filters). A client sends one as `Authorization: Bearer TOKEN`, or as the password that a "
            "browser asks for. Each line is `TOKEN` or `NAME TOKEN`; the audit log has the name. Without a file, these "
            "pages answer only clients on this host. Mode 0400 or 0600.",
            "default": "none",
        },
    )
    admin_reader_token_file: str = field(
        default="",
        metadata={
            "help": "File in the same format with tokens that may read these pages and change nothing.",
            "default": "none",
        },
    )
    admin_hosts: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Names in a Host header for which these pages answer without a token, besides the admin address "
            "and localhost. Others are refused, which prevents DNS rebinding."
        },
    )
    admin_tls_certificate: str = field(
        default="",
        metadata={
            "help": "PEM file with the certificate for TLS on the admin port, followed by its intermediate "
            "certificates; it may be that of tls_certificate. The port then serves no plain HTTP. A change of this "
            "file or admin_tls_key takes effect within 10 seconds. Empty: plain HTTP.",
            "default": "none",
        },
    )
    admin_tls_key: str = field(
        default="",
        metadata={
            "help": "PEM file with that certificate's private key, mode 0400 or 0600.",
            "default": "none",
        },
    )

    def __post_init__(self) -> None:
        """Refuse a certificate without a key, or a key without a certificate.

        Raises:
            SettingError: one is missing.
        """
        if bool(self.admin_tls_certificate) is not bool(self.admin_tls_key):
            missing = "admin_tls_key" if self.admin_tls_certificate else "admin_tls_certificate"
            raise SettingError(missing, "none", "must be a PEM file, since the other of the two is given")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainSettings:
    """The location of a proxy's operators' pages, for a command."""

    admin: str = field(
        default="127.0.0.1:9872",
        metadata={
            "help": "host:port of the proxy's admin pages; https://host:port if admin_tls_certificate is set."
        },
    )
    admin_ca: str = field(
        default="",
        metadata={
            "help": "PEM file with the CA certificates trusted for the admin port, whose certificate must match the "
            "host of admin. Empty: those of the operating system.",
            "default": "none",
        },
    )
    admin_token_file: str = field(
        default="",
        metadata={
            "help": "File with one of the proxy's tokens, if it has any; the first line is used.",
            "default": "none",
        },
    )

    def __post_init__(self) -> None:
        """Refuse an invalid address.

        Raises:
            SettingError: the address is invalid, or is not https although `admin_ca` is given.
        """
        _ = self.admin_at
        if self.admin_ca and not self.is_over_tls:
            raise SettingError("admin", self.admin, f"must begin with {_HTTPS}, since admin_ca is given")

    @property
    def is_over_tls(self) -> bool:
        """Whether the admin pages are served over TLS."""
        return self.admin.startswith(_HTTPS)

    @property
    def admin_at(self) -> ListenAddress:
        """The address of the admin pages."""
        return parse_endpoint("admin", self.admin.removeprefix(_HTTPS).removesuffix("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings:
    """The token that a command sends to the operators' pages of all registered proxies, and its trusted authorities.

    Raises:
        SettingError: without `admin_ca`, the token would go to every address in the registry.
    """

    admin_ca: str = field(
        default="",
        metadata={
            "help": "PEM file with the CA certificates trusted for the admin ports.",
            "default": "none",
        },
    )
    admin_token_file: str = field(
        default="",
        metadata={
            "help": "File with a token that all proxies accept; it is sent only over TLS, to certificates of admin_ca.",
            "default": "none",
        },
    )

    def __post_init__(self) -> None:
        if self.admin_token_file and not self.admin_ca:
            raise SettingError(
                "admin_ca",
                "none",
                "must be given with admin_token_file: the registry says where the token is sent, and the certificate "
                "that a proxy is there",
            )


def access_of(settings: AdminSettings, host: str) -> Access:
    """Return the access rule of an admin port that listens on `host`.

    Raises:
        SettingError: a token file or the certificate cannot be used, or a token occurs twice.
    """
    tokens = (
        *read_tokens("admin_token_file", settings.admin_token_file),
        *read_tokens("admin_reader_token_file", settings.admin_reader_token_file, may_change=False),
    )
    if len({token.value for token in tokens}) < len(tokens):
        key = "admin_reader_token_file" if settings.admin_reader_token_file else "admin_token_file"
        raise SettingError(key, getattr(settings, key), "must not hold a token that is there twice")
    return Access(host, tokens, settings.admin_hosts, admin_certificate(settings))


def admin_certificate(settings: AdminSettings) -> ServerCertificate | None:
    """Load the certificate of the admin port; None: the port serves plain HTTP.

    Raises:
        SettingError: the certificate cannot be used.
    """
    if not settings.admin_tls_certificate:
        return None
    files = CertificateFiles(
        certificate=settings.admin_tls_certificate, key=settings.admin_tls_key, prefix="admin_tls_"
    )
    try:
        return ServerCertificate(files)
    except StartError as error:
        key, _, fault = str(error).partition(": ")
        file, _, fault = fault.partition(": ")
        raise SettingError(key, file, fault) from error


def read_tokens(key: str, file: str, *, may_change: bool = True) -> tuple[Token, ...]:
    """Return the tokens in a file, at least one; none if no file is named.

    Raises:
        SettingError: the file cannot be read or is not secret, or a line has no valid token.
    """
    if not file:
        return ()
    try:
        lines = Path(file).read_text(encoding="ascii").strip().splitlines() or [""]
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise SettingError(key, shown(file), f"must be a readable file of ASCII: {why}") from error
    if fault := fault_of(file, "the token"):
        raise SettingError(key, file, fault)
    found = []
    for number, line in enumerate(lines, 1):
        holder, _, value = line.strip().rpartition(" ")
        if len(value) < _MIN_TOKEN_BYTES or not (line.isprintable() and len(holder.split()) <= 1):
            raise SettingError(
                key,
                file,
                f"line {number}: must be TOKEN or NAME TOKEN, the token of at least {_MIN_TOKEN_BYTES} characters",
            )
        found.append(Token(value, holder.strip(), may_change))
    return tuple(found)
