"""What is remembered over nights: what a session leaves behind, and the memory that all sessions together give. Pure."""
