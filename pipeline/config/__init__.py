"""The user's configuration: queries.yaml, API keys, the environment, and the files of a new workspace."""
