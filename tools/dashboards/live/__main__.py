"""`python -m tools.dashboards.live`."""

from tools.dashboards.live.command import live

live()
