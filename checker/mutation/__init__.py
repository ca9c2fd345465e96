"""Mutation testing of specs: which mistakes in a spec do its properties notice?"""
