"""What Bash needs for completion beyond what click does."""

from __future__ import annotations

import os
import re
import shlex

from click.shell_completion import BashComplete, CompletionItem, add_completion_class


@add_completion_class
class Bash(BashComplete):
    """Completion in Bash, which splits words at ``=`` and ``:``, and replaces only the part after the last of them."""

    source_template = BashComplete.source_template.replace(
        "return 0", "[[ $COMPREPLY == *[=/] ]] && compopt -o nospace\n\n    return 0"
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the incomplete word, and the incomplete word, as if Bash had not split them."""
        args, incomplete = super().get_completion_args()
        words = ["leadline"]
        for word in (*args, incomplete):
            before = words[-1]
            if word == "=" and before.startswith("-"):
                words.append("")  # the value of an option follows
            elif word and not before.startswith("-") and (word[0] in "=:" or before[-1:] in "=:"):
                words[-1] += word
            else:
                words.append(word)
        return words[1:-1], words[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the part of a completion that replaces what Bash takes for the word, in the form of its script."""
        try:
            shlex.split(os.environ["COMP_WORDS"])
        except ValueError:  # in an open quotation, where Bash does not split
            return super().format_completion(item)
        value = item.value[max(map(self.get_completion_args()[1].rfind, "=:")) + 1 :]
        return f"{item.type}," + re.sub(r"[^\w@%+=:,./~-]", r"\\\\\g<0>", value)  # the script reads \\ as \
