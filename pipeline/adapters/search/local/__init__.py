"""TODO pipeline/adapters/search/local"""
