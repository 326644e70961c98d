"""TODO pipeline/adapters/documents/markdown"""
