"""What a spec's code reaches and reads: its objects, its opcodes, and the parts of a state that a call looks at."""
