"""The scenarios of `equirank up --demo`."""

from enum import StrEnum


class Scenario(StrEnum):
    """arena: the Atari table and simulated pools of games; clones: an attack on the Atari table by copies."""

    ARENA = "arena"
    CLONES = "clones"
