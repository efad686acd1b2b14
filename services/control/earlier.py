"""Records of the control log that earlier releases wrote and this one does not. `decode` of `records.py` says what they mean now."""

import msgspec


class LossAccepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="forgotten"):
    """An operator accepted the loss of records of a partition from offset `position` to before `begin`."""

    partition: int
    position: int
    begin: int
    time: float


class Attempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="attempt"):
    """A shard was about to fold records. `deaths`: number of shards that died while they folded the single record at `begin`."""

    partition: int
    epoch: int
    begin: int = 0
    end: int = 0
    deaths: int = 0
    time: float
