"""Load the fixtures of nncache's pytest plugin, for environments installed before the plugin was registered."""

from nncache.namenode.pytest_plugin import light_cluster, light_cluster_of_session

__all__ = ["light_cluster", "light_cluster_of_session"]
