"""The registry over HTTP, on the port of a proxy that is registered."""
