"""The Spark benchmark of 10,000 pollers, its judge and its report; and parts measured by themselves."""
