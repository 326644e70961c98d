"""A server of the Model Context Protocol: other programs ask this workspace for its checked answers. Reads take no lock."""
