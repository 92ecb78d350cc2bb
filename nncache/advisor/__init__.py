"""Estimate from audit logs, on Spark, how many calls nncache would save, and for which paths. (nncache/advisor/)"""
