"""Settings of the service's own Kerberos identity."""

from dataclasses import dataclass, field

from nncache.hadoop.kerberos.principal import HOST, parse_principal
from nncache.net.setting_error import SettingError


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosSettings:
    """The service's own identity on a secured cluster. Raises SettingError: the first invalid value."""

    principal: str = field(
        default="",
        metadata={
            "help": "Kerberos principal of the service itself, such as nncache/_HOST@EXAMPLE.COM; _HOST is this host's "
            "canonical name, as in Hadoop's own settings. Requires keytab or ticket_cache. Empty: none; only NameNodes "
            "with SIMPLE authentication can be called."
        },
    )
    keytab: str = field(
        default="",
        metadata={
            "help": "File with the key of principal, mode 0400. It is used to renew tickets at half their lifetime. A "
            "replaced file is read again without a restart."
        },
    )
    ticket_cache: str = field(
        default="",
        metadata={
            "help": "Credential cache whose ticket is used instead of a keytab, such as FILE:/run/nncache.ccache "
            "(systemd's units hide /tmp). Another program renews the ticket (k5start -a)."
        },
    )
    namenode_principal: str = field(
        default="",
        metadata={
            "help": "Kerberos principal of the NameNodes, as in dfs.namenode.kerberos.principal, such as "
            "nn/_HOST@EXAMPLE.COM. A server with another principal is not called. Read from hadoop_conf_dir if it is "
            "set there. Empty: the principal that the server sends."
        },
    )
    fallback_to_simple_auth_allowed: bool = field(
        default=False,
        metadata={
            "help": "Whether a service with a principal also calls a NameNode that has only SIMPLE authentication, as "
            "user (ipc.client.fallback-to-simple-auth-allowed). Any host in the network can then impersonate the "
            "NameNode: use it only while a cluster is being secured."
        },
    )

    def __post_init__(self) -> None:
        for key in ("principal", "namenode_principal"):
            value = getattr(self, key)
            try:
                _ = value and parse_principal(value)
            except ValueError as exc:
                raise SettingError(key, value, str(exc)) from exc
        if self.keytab and self.ticket_cache:
            raise SettingError("ticket_cache", self.ticket_cache, "must not be given beside keytab")
        if self.keytab and not self.principal:
            raise SettingError(
                "principal", "none", "must say which key of keytab is meant (klist -kt shows them)"
            )
        if self.principal and not self.has_identity:
            raise SettingError("keytab", "none", f"must name the file with the key of {self.principal}")
        if self.principal.startswith(HOST):
            raise SettingError(
                "principal", self.principal, f"must name a service before {HOST}: nncache/{HOST}"
            )

    @property
    def has_identity(self) -> bool:
        """Whether the settings name an identity."""
        return bool(self.keytab or self.ticket_cache)

    def acts_as(self, user: str) -> str:
        """Return the user that a NameNode sees, by Hadoop's default rule for names; "" if only the ticket names it.

        `user` is the user name to send if there is no identity.
        """
        if not self.has_identity:
            return user
        return parse_principal(self.principal).service if self.principal else ""
