"""How many slips apart two spellings are."""

from __future__ import annotations


def slips_apart(one: str, other: str, most: int) -> int:
    """Return the number of slips between two strings, `most` + 1 when there are more.

    A slip is a character left out, added or replaced, or two neighbours swapped, and no stretch is
    changed twice (the optimal string alignment of Damerau's edits, CACM 1964).

    Args:
        one: a string.
        other: another; the order does not matter.
        most: slips up to which the number matters; the fewer, the faster.
    """
    if one == other:
        return 0
    if abs(len(one) - len(other)) > most:
        return most + 1
    beyond = most + 1
    before: list[int] = []
    above = [min(place, beyond) for place in range(len(other) + 1)]
    for row, char in enumerate(one, 1):
        current = _row(one, other, row, char, before, above, beyond)
        if min(*current, *above) > most:
            return beyond
        before, above = above, current
    return min(above[-1], beyond)


def _row(
    one: str, other: str, row: int, char: str, before: list[int], above: list[int], beyond: int
) -> list[int]:
    """Return one row of the table, where nothing is counted beyond `beyond`."""
    current = [beyond] * (len(other) + 1)
    if row < beyond:
        current[0] = row
    # Cells farther from the diagonal than the limit cannot lie on a path within it.
    for column in range(max(1, row - beyond), min(len(other), row + beyond) + 1):
        match = other[column - 1]
        best = min(above[column] + 1, current[column - 1] + 1, above[column - 1] + (char != match))
        if row > 1 and column > 1 and char == other[column - 2] and one[row - 2] == match:
            best = min(best, before[column - 2] + 1)
        current[column] = min(best, beyond)
    return current
