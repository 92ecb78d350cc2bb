"""What is not Hadoop's: addresses, TLS, secret files, timeouts, rate limits. The ground floor: imports no room."""
