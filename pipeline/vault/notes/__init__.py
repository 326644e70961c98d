"""TODO pipeline/vault/notes"""
