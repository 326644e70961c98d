"""Operation of unattended runs: log file, monitor, schedules, signals, terminal output, checks of the set-up."""
