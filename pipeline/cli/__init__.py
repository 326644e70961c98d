"""TODO pipeline/cli"""
