"""Serve over TLS: a certificate that is taken up again when its files change, and handshakes within their shares."""
