"""TODO pipeline/vault/cache"""
