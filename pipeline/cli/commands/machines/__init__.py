"""The commands for a workspace that several machines share."""
