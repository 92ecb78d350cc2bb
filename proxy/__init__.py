"""What clients and operators talk to: the WebHDFS front end, forwarding, identity, limits, and the admin pages."""
