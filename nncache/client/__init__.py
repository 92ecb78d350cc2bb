"""What other programs import: proxies and services by name, and the events of a filter."""
