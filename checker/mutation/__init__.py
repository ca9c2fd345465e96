"""Mutation testing of specs, which shows the mistakes in a spec that its properties detect."""
