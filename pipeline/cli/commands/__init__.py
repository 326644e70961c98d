"""The subcommands of ``research``, grouped by what they work on."""
