"""The dashboards, one module each, as values."""
