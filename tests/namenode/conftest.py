"""The fixtures that nncache's plugin for pytest has; an environment that was made before it does not load it."""

from nncache.namenode.pytest_plugin import light_cluster, light_cluster_of_session

__all__ = ["light_cluster", "light_cluster_of_session"]
