"""Commands that take something out of the workspace: reports, references, the digest of a night."""
