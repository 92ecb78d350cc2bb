"""Figures by user or by network: the requests of each, and the calls that they cause. (nncache/tenants/)"""
