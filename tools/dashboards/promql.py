"""PromQL as the dashboards use it. tests/deploy/test_dashboards.py holds what they name against the metrics table."""

from typing import Final

TARGETS: Final = 'job=~"$job", instance=~"$instance"'
"""What the variables of a dashboard select."""


def of(name: str, **matchers: str) -> str:
    """Return the selector of a metric; the value of a matcher may be several values, `a|b`."""
    own = (f'{label}{"=~" if "|" in values else "="}"{values}"' for label, values in matchers.items())
    return f"{name}{{{', '.join((*own, TARGETS))}}}"


def rate(name: str, **matchers: str) -> str:
    """Return by how much a counter grows in a second."""
    return f"rate({of(name, **matchers)}[$__rate_interval])"


def increase(name: str) -> str:
    """Return by how much a counter has grown within a few scrapes: for what happens seldom."""
    return f"increase({of(name)}[$__rate_interval])"


def total(expression: str, *by: str) -> str:
    """Return the sum over all targets, or one for each value of these labels."""
    return f"sum by ({', '.join(by)}) ({expression})" if by else f"sum({expression})"


def quantile(share: float, name: str, *by: str, **matchers: str) -> str:
    """Return what this share of a histogram's observations did not exceed, one for each value of these labels."""
    return f"histogram_quantile({share}, {total(rate(f'{name}_bucket', **matchers), 'le', *by)})"
