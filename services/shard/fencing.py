"""The error of a shard whose partition another shard owns now."""


class Fenced(Exception):  # noqa: N818 - names the fact
    """Another shard took over a partition of this shard, which must end."""
