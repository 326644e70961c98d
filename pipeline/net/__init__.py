"""The way out to the network: one HTTP client with an address guard, and the reading of web pages."""
