"""TODO pipeline/adapters/documents/plaintext"""
