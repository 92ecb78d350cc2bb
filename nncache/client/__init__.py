"""The public Python API: registered proxies, the service registry, and the events of a filter."""
