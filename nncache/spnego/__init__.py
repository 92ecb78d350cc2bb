"""Authentication of clients by the proxy itself: SPNEGO, a cookie, and calls as the service with `doas`."""
