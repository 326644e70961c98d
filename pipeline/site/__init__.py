"""The static site, made from the vault's files: what a person adds to the vault shows on the site too."""
