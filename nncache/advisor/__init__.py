"""What nncache would save, and for which paths: read from audit logs, on Spark. (nncache/advisor/)"""
