"""What pollers and the NameNodes see of a cold start, a restart, an outage and a failover, second by second."""
