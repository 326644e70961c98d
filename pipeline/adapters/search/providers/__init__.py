"""TODO pipeline/adapters/search/providers"""
