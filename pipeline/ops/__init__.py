"""What surrounds unattended work: log file, monitor, schedules, signals, checks of the set-up."""
