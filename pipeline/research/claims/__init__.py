"""What the report claims: checking of sentences, headings and claims, and changing only those that fall."""
