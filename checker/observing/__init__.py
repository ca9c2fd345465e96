"""Analyses a spec's code: which objects it can reach, which operations it contains, and which parts of a state its
calls read.
"""
