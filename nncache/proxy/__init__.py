"""What WebHDFS clients talk to: what a request is and says, and its way through `clients`, `decide`, `upstream`."""
