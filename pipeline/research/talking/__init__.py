"""The work of the steps of a talk: questions on stored pages."""
