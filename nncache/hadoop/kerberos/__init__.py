"""The service's own Kerberos identity, and how it proves it: tickets, GSS contexts, SPNEGO."""
