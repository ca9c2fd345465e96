"""The `leadline` command."""


def main() -> int:
    return 0
