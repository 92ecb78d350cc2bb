"""The pollers: what runs inside Spark's tasks, and what the driver needs to start them and gather what they saw."""
