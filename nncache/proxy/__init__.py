"""What WebHDFS clients talk to: what a request is and says here, and its way through `clients`, `decide` and `upstream`."""
