"""Names of what statements are about: what a rule finds without a model, and the check of what a model proposes."""
