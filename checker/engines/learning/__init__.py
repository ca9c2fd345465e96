"""The learned transition function of a spec, as tables that compiled loops walk."""
