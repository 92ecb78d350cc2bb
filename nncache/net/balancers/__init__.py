"""Load balancers in front: the client addresses that they send, in a header of a connection or of a request."""
