"""Reading ``queries.yaml`` (bytes → nodes with positions → values or errors) and appending to it. Used through ``settings``."""
