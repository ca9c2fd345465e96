"""Questions that readers of the articles ask, as a suite of checks: `leadline answers` writes the answers."""
