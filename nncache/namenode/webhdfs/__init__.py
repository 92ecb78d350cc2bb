"""WebHDFS as Hadoop 3.5 speaks it: parameters, JSON, exceptions, redirects."""
