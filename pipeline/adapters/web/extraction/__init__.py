"""TODO pipeline/adapters/web/extraction"""
