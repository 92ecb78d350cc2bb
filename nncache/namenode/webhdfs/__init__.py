"""WebHDFS as in Hadoop 3.5: parameters, JSON, exceptions, redirects."""
