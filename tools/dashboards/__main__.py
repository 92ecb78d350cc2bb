"""`python -m tools.dashboards`: `make dashboards-json`."""

from tools.dashboards.files import write

write()
