"""TODO pipeline/adapters/documents/html"""
