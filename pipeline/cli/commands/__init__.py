"""TODO pipeline/cli/commands"""
