"""TODO pipeline/vault/charts"""
