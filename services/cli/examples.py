"""Examples of all commands: their help shows them, docs/reference/commands.md lists them, and a test runs them in this order.

They work beside the demo (`make run`), in the folder of the project. The pool `copy` is made by the first `replay`.
"""

from collections.abc import Mapping
from typing import Final

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "up": ("equirank up --demo", "equirank up --data mine --port 0"),
    "engine": ("EQUIRANK_KAFKA=kafka:9092 EQUIRANK_REDIS=redis://redis:6379 EQUIRANK_CHECKPOINTS=s3://bucket/state equirank engine",),
    "api": ("EQUIRANK_KAFKA=kafka:9092 EQUIRANK_REDIS=redis://redis:6379 EQUIRANK_CHECKPOINTS=s3://bucket/state equirank api",),
    "precompile": ("equirank precompile",),
    "export": ("equirank export games.parquet --pool demo-rps", "equirank export games.jsonl --pool demo-rps --agent rock"),
    "inspect": ("equirank inspect games.parquet",),
    "solve": ("equirank solve games.parquet --method bradley_terry", "equirank solve --pool demo-rps --method maximal_lottery"),
    "scoreboard": ("equirank scoreboard games.parquet --method elo --method glicko2 --defaults",),
    "replay": (
        "printf 'winner,loser\\nrock,scissors\\nscissors,paper\\npaper,rock\\nrock,pebble\\n' > four.csv",
        "equirank replay four.csv --pool copy",
    ),
    "top": ("equirank top --pool demo-rps --method elo --count 5", "equirank top --pool copy --method sco --format json"),
    "agents": ("equirank agents demo-rps ro",),
    "agent": (
        "equirank agent demo-rps rock",
        "equirank agent demo-rps rock --outcomes --count 5",
        "equirank agent demo-rps rock --set 'display_name=The rock' --set country=CH",
    ),
    "why": ("equirank why demo-rps rock --method maximal_lottery", "equirank why demo-rps rock --method elo"),
    "insight": ("equirank insight --pool demo-rps",),
    "next": ("equirank next --pool demo-rps --count 3",),
    "methods": ("equirank methods --pool copy", "equirank methods --pool copy --add borda"),
    "pools list": ("equirank pools list",),
    "pools settings": ("equirank pools settings copy", "equirank pools settings copy --set online.elo.k=16 --yes --wait"),
    "pools ban": ("equirank pools ban copy scissors --yes --wait",),
    "pools unban": ("equirank pools unban copy scissors --yes --wait",),
    "pools resume": ("equirank pools resume copy --wait",),
    "seasons start": ("equirank seasons start copy spring --keep 0.5 --wait",),
    "seasons list": ("equirank seasons list copy",),
    "seasons withdraw": ("equirank seasons withdraw copy spring",),
    "erase": ("equirank erase --pool copy --agent paper --by case-17", "equirank erase --status"),
    "partitions list": ("equirank partitions list",),
    "partitions accept-loss": ("equirank partitions accept-loss 3",),
    "partitions skip": ("equirank partitions skip 3 --offset 41",),
    "partitions retry": ("equirank partitions retry 3",),
    "dead-letters list": ("equirank dead-letters list --pool demo-rps",),
    "dead-letters show": ("equirank dead-letters show 1/0/41/0 --whole",),
    "dead-letters replay": ("equirank dead-letters replay --pool demo-rps",),
    "store logs": ("equirank store logs",),
    "store forget": ("equirank store forget LOG --engine-is-gone",),
    "verify": ("equirank verify",),
    "backup": ("equirank backup saved",),
    "restore": ("equirank restore saved --data restored",),
    "bench": ("equirank bench --quick --only elo",),
    "papers": ("equirank papers deviation/table-1",),
}
"""Words of a command -> its examples, one line each."""
