"""`python -m nncache.deploy.grafana`: `make dashboards-json`."""

from nncache.deploy.grafana.files import write

write()
