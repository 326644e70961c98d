"""TODO pipeline/adapters/documents/manual"""
