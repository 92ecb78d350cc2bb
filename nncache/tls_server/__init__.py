"""Serve over TLS: reload the certificate when its files change, and limit handshakes by shares."""
