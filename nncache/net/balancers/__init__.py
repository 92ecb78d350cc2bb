"""Load balancers in front: what they say of their clients' addresses, in a header of a connection or of a request."""
