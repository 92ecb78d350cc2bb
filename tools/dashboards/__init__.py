"""Grafana dashboards as code: the queries of each panel, and the JSON that Grafana reads."""
