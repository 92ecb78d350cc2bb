"""Figures over time by user or by network: who asks, and whom the NameNodes work for. (nncache/tenants/)"""
