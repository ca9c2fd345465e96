"""The families of shipped specs, one in each module. Each combines a model with its properties."""
