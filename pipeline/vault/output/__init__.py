"""TODO pipeline/vault/output"""
