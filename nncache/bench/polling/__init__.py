"""The pollers: the code that runs in Spark's tasks, and the driver's code that starts them and gathers their rows."""
