"""TODO pipeline/engine"""
