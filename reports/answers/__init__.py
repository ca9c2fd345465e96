"""Questions that readers of the articles ask, as a suite of checks: `leadline page` writes the answers."""
