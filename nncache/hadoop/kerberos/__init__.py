"""The service's own Kerberos identity and its proof: tickets, GSS contexts, SPNEGO."""
