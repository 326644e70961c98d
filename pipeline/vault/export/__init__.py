"""What leaves the vault: a report as one file, and the references of reports for a reference manager."""
