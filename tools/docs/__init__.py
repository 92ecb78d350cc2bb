"""Pages of docs/ that are made from the code."""

from collections.abc import Mapping
from typing import Final

from tools.docs.checks import checks_page
from tools.docs.commands import commands_page
from tools.docs.reasons import reasons_page
from tools.docs.tables import metrics_page, settings_page

KEPT: Final[Mapping[str, str]] = {
    "settings.md": settings_page(),
    "metrics.md": metrics_page(),
    "cache-status.md": reasons_page(),
}
"""By name: those that are in git, since people search them there. `make docs` writes them."""

OF_THE_SITE: Final[Mapping[str, str]] = {"check.md": checks_page(), "commands.md": commands_page()}
"""By name: those that only the site has (`site.py`)."""
