"""Ask a daemon over its admin port, for `nncache explain`, `top` and `purge`. (nncache/commands/admin_client.py)"""

import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nncache.admin.settings import ExplainSettings, read_token
from nncache.commands.options import given
from nncache.errors import AdminError, ConfigurationError
from nncache.hadoop.endpoint import Endpoint
from nncache.hadoop.settings import SettingError
from nncache.settings.commands import SettingsOfExplain, load_settings
from nncache.settings.forms import Form

TIMEOUT_S = 5.0
"""For the whole exchange with a proxy that is usually on this host."""


@dataclass(frozen=True, slots=True)
class AdminPort:
    """Where to ask, and the token, if one is needed."""

    endpoint: Endpoint
    token: str | None

    def ask(self, target: str, method: Literal["GET", "POST"] = "GET") -> dict[str, Any]:
        """Return the JSON object with which the daemon answers.

        Raises:
            AdminError: nothing answers there, or not with what was asked for; says what to do.
        """
        admin = self.endpoint
        connection = http.client.HTTPConnection(admin.host, admin.port, timeout=TIMEOUT_S)
        fields = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        try:
            connection.request(method, target, headers=fields)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise AdminError(
                f"no proxy answers at {admin} ({error}): is one running with --admin {admin}? "
                "Else give --admin host:port"
            ) from error
        finally:
            connection.close()
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise AdminError(f"{admin} is not the admin port of an nncache proxy (status {response.status})")
        if response.status != http.client.OK:
            raise AdminError(f"{admin} answered {response.status}: {answer.get('error', answer)}")
        return answer


def admin_port(form: Form[SettingsOfExplain], config: Path | None, flags: dict[str, object]) -> AdminPort:
    """Return the port that the settings name; `flags` are the parameters of the command that stand for settings.

    Raises:
        ConfigurationError: the address is none, or there is no token in the file.
    """
    return admin_port_of(load_settings(form, config, given(flags)).proxy)


def admin_port_of(settings: ExplainSettings) -> AdminPort:
    """Return the port of these settings.

    Raises:
        ConfigurationError: there is no token in the file.
    """
    try:
        return AdminPort(settings.admin_at, read_token("admin_token_file", settings.admin_token_file))
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
