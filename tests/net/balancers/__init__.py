"""Load balancers in front of the proxy."""
