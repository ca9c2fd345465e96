"""Images of KRaft's metadata log. Read `rules` first, then `state` and `actions`."""
