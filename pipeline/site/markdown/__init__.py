"""TODO pipeline/site/markdown"""
