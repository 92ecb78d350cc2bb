"""The front end for WebHDFS clients: the values of a request, and its way through `clients`, `decide`, `upstream`."""
