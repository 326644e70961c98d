"""HTTP client for all adapters: retries, circuit breaker, address guard, size and time limits."""
