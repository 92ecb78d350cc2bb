"""Grafana dashboards as code: what each panel asks, and the JSON that Grafana reads."""
