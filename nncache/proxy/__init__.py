"""What WebHDFS clients talk to: the front end, forwarding, identity and limits."""
