"""Text extraction from web pages, in a separate process with limits on time and memory."""
