"""What one question's session was worth."""
