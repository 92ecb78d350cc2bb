"""A client of a daemon's admin port, for `nncache explain`, `top`, `purge` and `audit`."""

import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nncache.admin.settings import ExplainSettings, read_tokens
from nncache.commands.options import given
from nncache.errors import AdminError, ConfigurationError
from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError
from nncache.settings.commands import SettingsOfExplain, load_settings
from nncache.settings.forms import Form

_OTHER = {
    True: ", or https://host:port if it has an admin_tls_certificate",
    False: ", or host:port if it has no admin_tls_certificate",
}
"""The address that may be meant instead, by whether the request was plain HTTP."""

TIMEOUT_S = 5.0
"""Timeout in seconds of each socket operation. The proxy is usually on this host."""


@dataclass(frozen=True, slots=True)
class AdminPort:
    """An admin port: its address, the token if one is needed, and the TLS context if it is asked over TLS."""

    endpoint: ListenAddress
    token: str | None
    tls: ssl.SSLContext | None = None

    def ask(self, target: str, method: Literal["GET", "POST"] = "GET") -> dict[str, Any]:
        """Return the JSON object that the daemon answers.

        Raises:
            AdminError: there is no reply, an error, or a reply of another server. The message says what to do.
        """
        admin = self.endpoint
        connection = self._connection()
        fields = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        try:
            connection.request(method, target, headers=fields)
            response = connection.getresponse()
            body = response.read()
        except ssl.SSLCertVerificationError as error:
            raise AdminError(
                f"the certificate of {admin} is not trusted: {error.verify_message}: give --admin-ca, a PEM file of "
                "its authority, and in --admin a host that it names"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise AdminError(
                f"no proxy answers at {admin} ({error}): is one running with --admin {admin}? "
                f"Else give --admin {'https://' if self.tls else ''}host:port{_OTHER[self.tls is None]}"
            ) from error
        finally:
            connection.close()
        return answer_of(str(admin), response.status, body)

    def status_of_proxy(self) -> dict[str, Any]:
        """Return the /status of a proxy.

        Raises:
            AdminError: as `ask`; or the port is another daemon's. The message names it, and says what to do.
        """
        status = self.ask("/status")
        daemon = status.get("daemon")
        if daemon != "proxy":
            whose = f"an nncache {daemon}" if daemon else "a daemon that does not say which it is"
            raise AdminError(
                f"{self.endpoint} is the admin port of {whose}, which serves no clients: give --admin the proxy's "
                f"admin port; http://{self.endpoint}/ shows this one"
            )
        return status

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self.endpoint.host, self.endpoint.port
        if self.tls is None:
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=self.tls)


def answer_of(admin: str, status: int, body: bytes) -> dict[str, Any]:
    """Return the JSON object in a reply of the port at `admin`.

    Raises:
        AdminError: the port is not an admin port, or refuses. The message says what to do.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):  # the latter: nested a thousand levels deep
        answer = None
    if not isinstance(answer, dict):
        raise AdminError(f"{admin} is not the admin port of an nncache proxy (status {status})")
    if "RemoteException" in answer:
        raise AdminError(
            f"{admin} speaks WebHDFS, as the clients' port of a proxy does: give --admin the proxy's admin port "
            '(9872 by default; the line "status page" of its log names it)'
        )
    if status != http.client.OK:
        raise AdminError(f"{admin} answered {status}: {answer.get('error', answer)}")
    return answer


def admin_port(form: Form[SettingsOfExplain], config: Path | None, flags: dict[str, object]) -> AdminPort:
    """Return the admin port that the settings name. `flags` are the command's options for settings.

    Raises:
        ConfigurationError: a setting is invalid, or as `admin_port_of`.
    """
    return admin_port_of(load_settings(form, config, given(flags)).proxy)


def admin_port_of(settings: ExplainSettings) -> AdminPort:
    """Return the admin port of these settings.

    Raises:
        ConfigurationError: the file holds no token, or the file of certificate authorities cannot be used.
    """
    try:
        tokens = read_tokens("admin_token_file", settings.admin_token_file)
        return AdminPort(settings.admin_at, tokens[0].value if tokens else None, _trusted(settings))
    except SettingError as error:
        raise ConfigurationError(str(error)) from error


def _trusted(settings: ExplainSettings) -> ssl.SSLContext | None:
    if not settings.is_over_tls:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.admin_ca or None)
    except (ssl.SSLError, OSError) as error:
        fault = f"must be certificates of authorities in PEM: {error}"
        raise SettingError("admin_ca", settings.admin_ca, fault) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
