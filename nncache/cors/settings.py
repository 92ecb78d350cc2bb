"""Settings of CORS."""

import re
from dataclasses import dataclass, field
from typing import Final

from nncache.net.setting_error import SettingError

_ORIGIN: Final = re.compile(
    r"(?!http:.*:80\Z|https:.*:443\Z)https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[1-9][0-9]{0,4})?"
)
"""An origin as browsers send it: in lower case, without the scheme's own port (RFC 6454, section 6.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorsSettings:
    """The origins whose pages may read.

    Raises:
        SettingError: a value is not an origin.
    """

    cors_origins: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Origins (https://ui.example.com) whose pages may read WebHDFS, events and the registry in a "
            "browser (CORS), with the user's cookies. The proxy sends them Access-Control-Allow-Origin on GET and "
            "answers their preflights. Empty: none."
        },
    )

    def __post_init__(self) -> None:
        for origin in self.cors_origins:
            if not _ORIGIN.fullmatch(origin):
                allowed = (
                    "must be an origin as browsers send it: https://ui.example.com, without a path and without the "
                    "port 443 of https or 80 of http"
                )
                raise SettingError("cors_origins", origin, allowed)
