"""TODO pipeline/adapters/reasoners/openai/prompting"""
