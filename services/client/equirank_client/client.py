"""The client and its asynchronous twin: one method for each operation of the API."""

# Written by `make docs` from the OpenAPI document; a test compares.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from equirank_client.calls import Call, path, with_ids
from equirank_client.connection import AsyncConnection, AsyncDownload, AsyncEvents, Connection, Download, Events
from equirank_client.structs import *


class Client(Connection):
    """Reads and writes an installation. Errors and arguments: `Connection`."""

    def list_agents(self, pool: str, *, query: str | None = None, cursor: str | None = None, count: int | None = None, method: str | None = None, hidden: bool | None = None, slice: str | None = None) -> AgentList:
        r"""Find agents by name. Equal names are first, then those that begin with the query, then those that contain it.

        Agents whose display name matches follow.

        Within each, agents with more outcomes are first. One API process lists no agent twice. An agent that plays between two requests can
        move past the cursor, and is not listed then. If nothing is found, `suggestions` has the nearest names. With `slice`: only agents of the
        slice, with their outcomes and ratings in it."""
        return self._value(Call("GET", path("/v1/pools/{pool}/agents", pool=pool), query={'query': query, 'cursor': cursor, 'count': count, 'method': method, 'hidden': hidden, 'slice': slice}, accept='application/json', repeatable=True), AgentList)

    def change_agents(self, pool: str, body: list[AgentChange]) -> AgentsChanged:
        r"""Change the details of many agents, by a JSON array, JSON lines or CSV. If one of them breaks a rule, nothing is changed.

        Absent fields and columns stay as they are; null and empty cells remove a value."""
        return self._value(Call("PATCH", path("/v1/pools/{pool}/agents", pool=pool), body=body, accept='application/json', repeatable=True), AgentsChanged)

    def get_agent(self, pool: str, agent: str, *, hidden: bool | None = None, slice: str | None = None) -> AgentProfile:
        r"""Return an agent's profile: its ratings and ranks by each method, its record and its details.

        Percent-encode the name, including slashes. With `slice`, ratings, outcomes and record are those of the slice."""
        return self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}", pool=pool, agent=agent), query={'hidden': hidden, 'slice': slice}, accept='application/json', repeatable=True), AgentProfile)

    def change_agent(self, pool: str, agent: str, body: DetailsChange) -> ChangedAgent:
        r"""Change the details of an agent: an absent field stays, null removes its value. No rating changes.

        The pool need not have an agent of this name yet."""
        return self._value(Call("PATCH", path("/v1/pools/{pool}/agents/{agent}", pool=pool, agent=agent), body=body, accept='application/json', repeatable=True), ChangedAgent)

    def get_agent_history(self, pool: str, agent: str, *, method: str | None = None, since: str | None = None, until: str | None = None, points: int | None = None, hidden: bool | None = None, slice: str | None = None) -> AgentHistory:
        r"""Return an agent's rating over time: after each outcome by an online method, in each kept solve by a solved one.

        Percent-encode the name, including slashes. Ratings by an online method are those at a checkpoint, at `position`. A late outcome has
        its own time, and its place in the order of the log. With `slice`: ratings in the slice. For an online method, all outcomes of the
        pool are folded again for it, at most 2,000,000. `events` are the seasons that began and the generations of the pool, with what
        changed for the agent, such as a ban; they are some seconds behind."""
        return self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}/history", pool=pool, agent=agent), query={'method': method, 'since': since, 'until': until, 'points': points, 'hidden': hidden, 'slice': slice}, accept='application/json', repeatable=True), AgentHistory)

    def list_opponents(self, pool: str, agent: str, *, cursor: str | None = None, count: int | None = None, method: str | None = None, hidden: bool | None = None, slice: str | None = None, opponent: str | None = None) -> OpponentList:
        r"""Return an agent's record against each opponent, most games first, with the expected score of their next game.

        With `opponent`: against this one alone, also if they never met.

        Percent-encode the name, including slashes. The record is that of a checkpoint, at `position`. With `slice`, record and ratings are
        those in the slice; expected scores then use the scale of the pool's forecasts."""
        return self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}/opponents", pool=pool, agent=agent), query={'cursor': cursor, 'count': count, 'method': method, 'hidden': hidden, 'slice': slice, 'opponent': opponent}, accept='application/json', repeatable=True), OpponentList)

    def list_agent_outcomes(self, pool: str, agent: str, *, cursor: str | None = None, count: int | None = None, method: str | None = None, hidden: bool | None = None, slice: str | None = None, ids: bool | None = None) -> AgentOutcomes:
        r"""Return an agent's outcomes, newest first, with the ratings before and after each, and expected scores.

        Percent-encode the name, including slashes. The outcomes are those at a checkpoint, at `position`, in the order of the log. The header
        Accept or `format` selects JSON or JSON lines. JSON lines have the outcomes alone, and `next` in the header `Equirank-Next`. With
        `slice`: those of the slice, with the ratings in it; all outcomes of the pool are folded again for them, at most 2,000,000. With `ids`:
        with the ids by which they were sent, by which an outcome can be found again and retracted."""
        return self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}/outcomes", pool=pool, agent=agent), query={'cursor': cursor, 'count': count, 'method': method, 'hidden': hidden, 'slice': slice, 'ids': ids}, accept='application/json', repeatable=True), AgentOutcomes)

    def download_agent_outcomes(self, pool: str, agent: str, *, format: Literal['jsonl'] = 'jsonl', cursor: str | None = None, count: int | None = None, method: str | None = None, hidden: bool | None = None, slice: str | None = None, ids: bool | None = None) -> Download:
        r"""Return an agent's outcomes, newest first, with the ratings before and after each, and expected scores.

        Percent-encode the name, including slashes. The outcomes are those at a checkpoint, at `position`, in the order of the log. The header
        Accept or `format` selects JSON or JSON lines. JSON lines have the outcomes alone, and `next` in the header `Equirank-Next`. With
        `slice`: those of the slice, with the ratings in it; all outcomes of the pool are folded again for them, at most 2,000,000. With `ids`:
        with the ids by which they were sent, by which an outcome can be found again and retracted."""
        return self._download(Call("GET", path("/v1/pools/{pool}/agents/{agent}/outcomes", pool=pool, agent=agent), query={'format': format, 'cursor': cursor, 'count': count, 'method': method, 'hidden': hidden, 'slice': slice, 'ids': ids}, accept='*/*', repeatable=True))

    def list_boards(self, pool: str, *, count: int | None = None, slice: str | None = None) -> Boards:
        r"""List the boards of a pool. With `count`: with the first rows of each board. Answers 304 to If-None-Match if nothing changed.

        `extra` has single values alone; the board itself has all of it. With `slice`: the boards of the slice."""
        return self._value(Call("GET", path("/v1/pools/{pool}/boards", pool=pool), query={'count': count, 'slice': slice}, accept='application/json', repeatable=True), Boards)

    def get_board(self, pool: str, method: str, *, start: int | None = None, count: int | None = None, cursor: str | None = None, agents: Sequence[str] | None = None, position: int | None = None, at: str | None = None, all: bool | None = None, generation: int | None = None, provisional: ShownProvisional | None = None, country: str | None = None, organisation: str | None = None, tag: Sequence[str] | None = None, min_games: int | None = None, hidden: bool | None = None, slice: str | None = None) -> Board:
        r"""Return rows of a live or solved board, best first. With `position` or `at`: the board at that time, or 410 if it is not kept.

        A position at which boards of several generations are kept needs `generation`; without it, 409 names them. The header Accept or `format`
        selects JSON, CSV, JSON lines, an Arrow stream or Parquet. JSON has 50 rows by default, and `cursor` continues. Of a maximal lottery it
        has only the support, and the number of other agents in `outside`, unless `all=true`. The other formats have all rows, at most 200,000,
        unless `start` or `count` is given. With filters of details or games, ranks are those of the complete board."""
        return self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}", pool=pool, method=method), query={'start': start, 'count': count, 'cursor': cursor, 'agents': agents, 'position': position, 'at': at, 'all': all, 'generation': generation, 'provisional': provisional, 'country': country, 'organisation': organisation, 'tag': tag, 'min_games': min_games, 'hidden': hidden, 'slice': slice}, accept='application/json', repeatable=True), Board)

    def download_board(self, pool: str, method: str, *, format: Literal['csv', 'jsonl', 'arrow', 'parquet'], start: int | None = None, count: int | None = None, cursor: str | None = None, agents: Sequence[str] | None = None, position: int | None = None, at: str | None = None, all: bool | None = None, generation: int | None = None, provisional: ShownProvisional | None = None, country: str | None = None, organisation: str | None = None, tag: Sequence[str] | None = None, min_games: int | None = None, hidden: bool | None = None, slice: str | None = None) -> Download:
        r"""Return rows of a live or solved board, best first. With `position` or `at`: the board at that time, or 410 if it is not kept.

        A position at which boards of several generations are kept needs `generation`; without it, 409 names them. The header Accept or `format`
        selects JSON, CSV, JSON lines, an Arrow stream or Parquet. JSON has 50 rows by default, and `cursor` continues. Of a maximal lottery it
        has only the support, and the number of other agents in `outside`, unless `all=true`. The other formats have all rows, at most 200,000,
        unless `start` or `count` is given. With filters of details or games, ranks are those of the complete board."""
        return self._download(Call("GET", path("/v1/pools/{pool}/boards/{method}", pool=pool, method=method), query={'format': format, 'start': start, 'count': count, 'cursor': cursor, 'agents': agents, 'position': position, 'at': at, 'all': all, 'generation': generation, 'provisional': provisional, 'country': country, 'organisation': organisation, 'tag': tag, 'min_games': min_games, 'hidden': hidden, 'slice': slice}, accept='*/*', repeatable=True))

    def get_board_around(self, pool: str, method: str, agent: str, *, count: int | None = None, slice: str | None = None) -> Board:
        r"""Return the rows around an agent. Answers 304 to If-None-Match if nothing changed.

        Percent-encode the agent's name, including slashes."""
        return self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}/around/{agent}", pool=pool, method=method, agent=agent), query={'count': count, 'slice': slice}, accept='application/json', repeatable=True), Board)

    def compare_solves(self, pool: str, method: str, *, against: int | None = None, position: int | None = None, since: str | None = None, until: str | None = None, count: int | None = None, slice: str | None = None, generation: int | None = None) -> Difference:
        r"""Return what changed from an earlier solve to the newest one of the same season, and why. Solves of two seasons are not compared.

        Of an online method: what changed from the board at `against` to the one at `position`, or from `since` to `until`. Of a solved method
        with `position`, `since` or `until`: the same, by two solves on request, which large pools are refused. Both need an archive for moments
        of which nothing is kept."""
        return self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}/diff", pool=pool, method=method), query={'against': against, 'position': position, 'since': since, 'until': until, 'count': count, 'slice': slice, 'generation': generation}, accept='application/json', repeatable=True), Difference)

    def list_solves(self, pool: str, method: str, *, slice: str | None = None) -> History:
        r"""List the kept solves of a method, newest first. Each entry has the data, parameters and quality of its solve."""
        return self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}/history", pool=pool, method=method), query={'slice': slice}, accept='application/json', repeatable=True), History)

    def explain_rating(self, pool: str, method: str, agent: str, *, flips: bool | None = None, from_: int | None = None, to: int | None = None, since: str | None = None, until: str | None = None, count: int | None = None, slice: str | None = None) -> Why:
        r"""Explain an agent's rating: contributions by opponent and by task, which sum to the rating or balance to 0.

        By an online method, they are the changes by the outcomes of the pool's history. A solved method is solved again on a checkpoint, so
        large pools are refused. With `flips`, for a solved method: few outcomes without which the rank would change, verified by a solve
        without them. With `from` or `since`: what changed since then. A moment before the present season is refused (422). With `slice`: the
        rating in the slice.
        Percent-encode the agent's name, including slashes."""
        return self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}/why/{agent}", pool=pool, method=method, agent=agent), query={'flips': flips, 'from': from_, 'to': to, 'since': since, 'until': until, 'count': count, 'slice': slice}, accept='application/json', repeatable=True), Why)

    def list_slices(self, pool: str) -> Slices:
        r"""List the slices of a pool: values of tags that have separate boards, with their numbers of outcomes and agents.

        The setting `slices` of the pool names the tags. A value beyond the setting `slice_values` has no slice; `beyond` counts its outcomes."""
        return self._value(Call("GET", path("/v1/pools/{pool}/slices", pool=pool), accept='application/json', repeatable=True), Slices)

    def get_stream(self, pool: str, *, methods: Sequence[str] | None = None, count: int | None = None, agents: Sequence[str] | None = None, slice: str | None = None) -> Events:
        r"""Stream changes of a pool's boards and of agents' ratings as server-sent events.

        The newest state is sent at once, unless Last-Event-ID is its id. A reader that is slower than the changes gets the newest state, not
        every state. While nothing changes, a comment is sent every 15 s. With `slice`, boards and ratings are those of the slice."""
        return self._events(Call("GET", path("/v1/pools/{pool}/stream", pool=pool), query={'methods': methods, 'count': count, 'agents': agents, 'slice': slice}, accept='text/event-stream', repeatable=True))

    def list_fair_opponents(self, pool: str, agent: str, *, count: int | None = None, method: str | None = None, slice: str | None = None) -> FairOpponents:
        r"""Return the opponents whose next game with an agent is expected to be most even, the most even first.

        They are chosen among the agents nearest to it by rating, provisional ones included. Hidden agents are left out. Percent-encode the
        name, including slashes. With `slice`: by ratings in the slice, with the scale and the record of the pool's forecasts."""
        return self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}/fair-opponents", pool=pool, agent=agent), query={'count': count, 'method': method, 'slice': slice}, accept='application/json', repeatable=True), FairOpponents)

    def get_matchups(self, pool: str, *, agents: Sequence[str], method: str, slice: str | None = None) -> Matchups:
        r"""Return the expected score of each of several agents against each other, and the probability of a tie.

        With `slice`: by ratings in the slice, with the scale and the record of the pool's forecasts."""
        return self._value(Call("GET", path("/v1/pools/{pool}/matchups", pool=pool), query={'agents': agents, 'method': method, 'slice': slice}, accept='application/json', repeatable=True), Matchups)

    def predict(self, pool: str, body: PredictAsked, *, slice: str | None = None) -> Predictions:
        r"""Forecast games of two or more sides by the online methods of a pool.

        Each method has the records of its earlier forecasts of games of the same shapes, and each duel has the record of its two agents against
        each other. A game of a shape with too few results has ranks of its sides and a reason, and no probability.
        With `slice`: by ratings and games in the slice, with the scale and the record of the pool's forecasts. Nothing is written, and no key
        is needed."""
        return self._value(Call("POST", path("/v1/pools/{pool}/predict", pool=pool), query={'slice': slice}, body=body, accept='application/json', repeatable=True), Predictions)

    def get_insight(self, pool: str, *, slice: str | None = None) -> Insight:
        r"""Report cycles, clones, links between agents, disagreements and forecasts.

        They are recomputed with the solves. Answers 304 to If-None-Match if nothing changed. With `slice`: of the outcomes of the slice alone,
        computed on request from the newest checkpoint, for at most 2,000 agents. Hidden agents are not named."""
        return self._value(Call("GET", path("/v1/pools/{pool}/insight", pool=pool), query={'slice': slice}, accept='application/json', repeatable=True), Insight)

    def plan_next(self, pool: str, *, target: str | None = None, games: int | None = None, count: int | None = None, floor: float | None = None, slice: str | None = None) -> Next:
        r"""Recommend sampling rates of games (pairs of agents) or measurements (agent and task).

        Games or measurements drawn at these rates reduce the target's uncertainty fastest. With `slice`: of ratings by the outcomes of the
        slice alone. Those of hidden agents are not listed, and a hidden agent is no target."""
        return self._value(Call("GET", path("/v1/pools/{pool}/next", pool=pool), query={'target': target, 'games': games, 'count': count, 'floor': floor, 'slice': slice}, accept='application/json', repeatable=True), Next)

    def send_outcomes(self, body: Sequence[SentGame | SentScores | SentRetraction | Mapping[str, Any]]) -> Accepted:
        r"""Write one outcome, an array, or an Arrow IPC stream of outcomes. Either all of them are written or none.

        Send your own ids to make retries safe: an id counts once. Where keys are set, retractions need an admin key."""
        return self._value(Call("POST", path("/v1/outcomes"), body=with_ids(body), accept='application/json', repeatable=True), Accepted)

    def list_pools(self, *, start: int | None = None, count: int | None = None) -> PoolList:
        r"""List all pools in the order of their names, including pools without outcomes."""
        return self._value(Call("GET", path("/v1/pools"), query={'start': start, 'count': count}, accept='application/json', repeatable=True), PoolList)

    def get_pool(self, pool: str) -> PoolView:
        r"""Show a pool with its newest summary, and whether its partition is being folded."""
        return self._value(Call("GET", path("/v1/pools/{pool}", pool=pool), accept='application/json', repeatable=True), PoolView)

    def create_pool(self, pool: str, body: PoolWanted) -> PoolView:
        r"""Create a pool. Repeating the same request changes nothing. Another kind, label or fold for an existing pool is refused."""
        return self._value(Call("PUT", path("/v1/pools/{pool}", pool=pool), body=body, accept='application/json', repeatable=True), PoolView)

    def export_outcomes(self, pool: str, *, from_: int | None = None, to: int | None = None, since: str | None = None, until: str | None = None, agent: Sequence[str] | None = None, column: Sequence[str] | None = None, format: Format | None = None) -> Download:
        r"""Stream a pool's outcomes and retractions as they were sent. They come from the archive, and newer ones from the log.

        If the installation has keys, a key is required: boards are public, but outcomes are not."""
        return self._download(Call("GET", path("/v1/pools/{pool}/export", pool=pool), query={'from': from_, 'to': to, 'since': since, 'until': until, 'agent': agent, 'column': column, 'format': format}, accept='*/*', repeatable=True))

    def get_generations(self, pool: str) -> Generations:
        r"""Show the generation that readers see, the newest generation, and the waiting request."""
        return self._value(Call("GET", path("/v1/pools/{pool}/generations", pool=pool), accept='application/json', repeatable=True), Generations)

    def request_generation(self, pool: str, body: GenerationAsked) -> GenerationWish:
        r"""Change settings, aliases, bans or initial ratings.

        The pool is folded again from the log, then all its live boards switch at once. Each solved board follows with its next solve.
        An empty object folds the pool again with its present settings. This resumes a stopped pool: first retract the outcomes at which it
        stops."""
        return self._value(Call("POST", path("/v1/pools/{pool}/generations", pool=pool), body=body, accept='application/json', repeatable=False), GenerationWish)

    def choose_leading_method(self, pool: str, body: LeadingWanted) -> PoolView:
        r"""Choose the method that the pages of a pool show first. Nothing is folded again."""
        return self._value(Call("PUT", path("/v1/pools/{pool}/leading_method", pool=pool), body=body, accept='application/json', repeatable=True), PoolView)

    def list_methods(self, pool: str) -> MethodChoices:
        r"""List all solved methods, each with the parameters that the pool is solved with, or the reason why it does not apply."""
        return self._value(Call("GET", path("/v1/pools/{pool}/methods", pool=pool), accept='application/json', repeatable=True), MethodChoices)

    def choose_methods(self, pool: str, body: MethodsWanted) -> MethodChoices:
        r"""Choose the methods that the pool is solved by, from the next round on. They replace the present ones."""
        return self._value(Call("PUT", path("/v1/pools/{pool}/methods", pool=pool), body=body, accept='application/json', repeatable=True), MethodChoices)

    def list_seasons(self, pool: str) -> Seasons:
        r"""List the seasons of a pool, oldest first, with their spans and the names of their final boards."""
        return self._value(Call("GET", path("/v1/pools/{pool}/seasons", pool=pool), accept='application/json', repeatable=True), Seasons)

    def start_season(self, pool: str, body: SeasonAsked) -> GenerationWish:
        r"""End the present season and start the next one.

        The final boards of the ended season are kept for ever. Settings, aliases and bans stay. With `keep`, ratings of online methods are
        carried over by a soft reset. Solved methods count the outcomes of the new season alone. Retractions that wait are applied first."""
        return self._value(Call("POST", path("/v1/pools/{pool}/seasons", pool=pool), body=body, accept='application/json', repeatable=False), GenerationWish)

    def withdraw_season(self, pool: str, season: str) -> Seasons:
        r"""Withdraw a season that was requested and has not begun, and return the seasons that are left.

        Changed settings that the request holds stay requested, for the present season. The name can be used again."""
        return self._value(Call("DELETE", path("/v1/pools/{pool}/seasons/{season}", pool=pool, season=season), accept='application/json', repeatable=False), Seasons)

    def get_season_board(self, pool: str, season: str, method: str, *, start: int | None = None, count: int | None = None, cursor: str | None = None, agents: Sequence[str] | None = None, provisional: ShownProvisional | None = None, slice: str | None = None) -> Board:
        r"""Return rows of a final board of an ended season, best first, in the formats of a board."""
        return self._value(Call("GET", path("/v1/pools/{pool}/seasons/{season}/boards/{method}", pool=pool, season=season, method=method), query={'start': start, 'count': count, 'cursor': cursor, 'agents': agents, 'provisional': provisional, 'slice': slice}, accept='application/json', repeatable=True), Board)

    def download_season_board(self, pool: str, season: str, method: str, *, format: Literal['csv', 'jsonl', 'arrow', 'parquet'], start: int | None = None, count: int | None = None, cursor: str | None = None, agents: Sequence[str] | None = None, provisional: ShownProvisional | None = None, slice: str | None = None) -> Download:
        r"""Return rows of a final board of an ended season, best first, in the formats of a board."""
        return self._download(Call("GET", path("/v1/pools/{pool}/seasons/{season}/boards/{method}", pool=pool, season=season, method=method), query={'format': format, 'start': start, 'count': count, 'cursor': cursor, 'agents': agents, 'provisional': provisional, 'slice': slice}, accept='*/*', repeatable=True))

    def freshz(self, *, pool: str | None = None) -> Freshness:
        r"""Whether outcomes are being folded: 200 if every partition is folded, 503 if not. With `pool`: only the partition of this pool.

        Use it for alerts, and in writers that should wait. Boards are served in both cases, so orchestrators should probe /readyz."""
        return self._value(Call("GET", path("/freshz"), query={'pool': pool}, accept='application/json', repeatable=False), Freshness)

    def livez(self) -> str:
        r"""The process is alive."""
        return self._value(Call("GET", path("/livez"), accept='text/plain', repeatable=False), str)

    def metrics(self) -> str:
        r"""Metrics of this process for Prometheus."""
        return self._value(Call("GET", path("/metrics"), accept='text/plain', repeatable=False), str)

    def readyz(self) -> str:
        r"""Boards can be served, because the store answers; otherwise 503.

        Boards can be old: /freshz reports whether outcomes are being folded."""
        return self._value(Call("GET", path("/readyz"), accept='text/plain', repeatable=False), str)

    def get_operations(self, *, count: int | None = None) -> Operations:
        r"""Return what shards report of each partition, and the outcomes that were refused most recently, with their rules.

        If the installation has keys, a key is required: boards are public, but the texts of reports and refusals are not."""
        return self._value(Call("GET", path("/v1/operations"), query={'count': count}, accept='application/json', repeatable=False), Operations)


class AsyncClient(AsyncConnection):
    """The same for asyncio. Errors and arguments: `AsyncConnection`."""

    async def list_agents(self, pool: str, *, query: str | None = None, cursor: str | None = None, count: int | None = None, method: str | None = None, hidden: bool | None = None, slice: str | None = None) -> AgentList:
        r"""Find agents by name. Equal names are first, then those that begin with the query, then those that contain it.

        Agents whose display name matches follow.

        Within each, agents with more outcomes are first. One API process lists no agent twice. An agent that plays between two requests can
        move past the cursor, and is not listed then. If nothing is found, `suggestions` has the nearest names. With `slice`: only agents of the
        slice, with their outcomes and ratings in it."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/agents", pool=pool), query={'query': query, 'cursor': cursor, 'count': count, 'method': method, 'hidden': hidden, 'slice': slice}, accept='application/json', repeatable=True), AgentList)

    async def change_agents(self, pool: str, body: list[AgentChange]) -> AgentsChanged:
        r"""Change the details of many agents, by a JSON array, JSON lines or CSV. If one of them breaks a rule, nothing is changed.

        Absent fields and columns stay as they are; null and empty cells remove a value."""
        return await self._value(Call("PATCH", path("/v1/pools/{pool}/agents", pool=pool), body=body, accept='application/json', repeatable=True), AgentsChanged)

    async def get_agent(self, pool: str, agent: str, *, hidden: bool | None = None, slice: str | None = None) -> AgentProfile:
        r"""Return an agent's profile: its ratings and ranks by each method, its record and its details.

        Percent-encode the name, including slashes. With `slice`, ratings, outcomes and record are those of the slice."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}", pool=pool, agent=agent), query={'hidden': hidden, 'slice': slice}, accept='application/json', repeatable=True), AgentProfile)

    async def change_agent(self, pool: str, agent: str, body: DetailsChange) -> ChangedAgent:
        r"""Change the details of an agent: an absent field stays, null removes its value. No rating changes.

        The pool need not have an agent of this name yet."""
        return await self._value(Call("PATCH", path("/v1/pools/{pool}/agents/{agent}", pool=pool, agent=agent), body=body, accept='application/json', repeatable=True), ChangedAgent)

    async def get_agent_history(self, pool: str, agent: str, *, method: str | None = None, since: str | None = None, until: str | None = None, points: int | None = None, hidden: bool | None = None, slice: str | None = None) -> AgentHistory:
        r"""Return an agent's rating over time: after each outcome by an online method, in each kept solve by a solved one.

        Percent-encode the name, including slashes. Ratings by an online method are those at a checkpoint, at `position`. A late outcome has
        its own time, and its place in the order of the log. With `slice`: ratings in the slice. For an online method, all outcomes of the
        pool are folded again for it, at most 2,000,000. `events` are the seasons that began and the generations of the pool, with what
        changed for the agent, such as a ban; they are some seconds behind."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}/history", pool=pool, agent=agent), query={'method': method, 'since': since, 'until': until, 'points': points, 'hidden': hidden, 'slice': slice}, accept='application/json', repeatable=True), AgentHistory)

    async def list_opponents(self, pool: str, agent: str, *, cursor: str | None = None, count: int | None = None, method: str | None = None, hidden: bool | None = None, slice: str | None = None, opponent: str | None = None) -> OpponentList:
        r"""Return an agent's record against each opponent, most games first, with the expected score of their next game.

        With `opponent`: against this one alone, also if they never met.

        Percent-encode the name, including slashes. The record is that of a checkpoint, at `position`. With `slice`, record and ratings are
        those in the slice; expected scores then use the scale of the pool's forecasts."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}/opponents", pool=pool, agent=agent), query={'cursor': cursor, 'count': count, 'method': method, 'hidden': hidden, 'slice': slice, 'opponent': opponent}, accept='application/json', repeatable=True), OpponentList)

    async def list_agent_outcomes(self, pool: str, agent: str, *, cursor: str | None = None, count: int | None = None, method: str | None = None, hidden: bool | None = None, slice: str | None = None, ids: bool | None = None) -> AgentOutcomes:
        r"""Return an agent's outcomes, newest first, with the ratings before and after each, and expected scores.

        Percent-encode the name, including slashes. The outcomes are those at a checkpoint, at `position`, in the order of the log. The header
        Accept or `format` selects JSON or JSON lines. JSON lines have the outcomes alone, and `next` in the header `Equirank-Next`. With
        `slice`: those of the slice, with the ratings in it; all outcomes of the pool are folded again for them, at most 2,000,000. With `ids`:
        with the ids by which they were sent, by which an outcome can be found again and retracted."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}/outcomes", pool=pool, agent=agent), query={'cursor': cursor, 'count': count, 'method': method, 'hidden': hidden, 'slice': slice, 'ids': ids}, accept='application/json', repeatable=True), AgentOutcomes)

    def download_agent_outcomes(self, pool: str, agent: str, *, format: Literal['jsonl'] = 'jsonl', cursor: str | None = None, count: int | None = None, method: str | None = None, hidden: bool | None = None, slice: str | None = None, ids: bool | None = None) -> AsyncDownload:
        r"""Return an agent's outcomes, newest first, with the ratings before and after each, and expected scores.

        Percent-encode the name, including slashes. The outcomes are those at a checkpoint, at `position`, in the order of the log. The header
        Accept or `format` selects JSON or JSON lines. JSON lines have the outcomes alone, and `next` in the header `Equirank-Next`. With
        `slice`: those of the slice, with the ratings in it; all outcomes of the pool are folded again for them, at most 2,000,000. With `ids`:
        with the ids by which they were sent, by which an outcome can be found again and retracted."""
        return self._download(Call("GET", path("/v1/pools/{pool}/agents/{agent}/outcomes", pool=pool, agent=agent), query={'format': format, 'cursor': cursor, 'count': count, 'method': method, 'hidden': hidden, 'slice': slice, 'ids': ids}, accept='*/*', repeatable=True))

    async def list_boards(self, pool: str, *, count: int | None = None, slice: str | None = None) -> Boards:
        r"""List the boards of a pool. With `count`: with the first rows of each board. Answers 304 to If-None-Match if nothing changed.

        `extra` has single values alone; the board itself has all of it. With `slice`: the boards of the slice."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/boards", pool=pool), query={'count': count, 'slice': slice}, accept='application/json', repeatable=True), Boards)

    async def get_board(self, pool: str, method: str, *, start: int | None = None, count: int | None = None, cursor: str | None = None, agents: Sequence[str] | None = None, position: int | None = None, at: str | None = None, all: bool | None = None, generation: int | None = None, provisional: ShownProvisional | None = None, country: str | None = None, organisation: str | None = None, tag: Sequence[str] | None = None, min_games: int | None = None, hidden: bool | None = None, slice: str | None = None) -> Board:
        r"""Return rows of a live or solved board, best first. With `position` or `at`: the board at that time, or 410 if it is not kept.

        A position at which boards of several generations are kept needs `generation`; without it, 409 names them. The header Accept or `format`
        selects JSON, CSV, JSON lines, an Arrow stream or Parquet. JSON has 50 rows by default, and `cursor` continues. Of a maximal lottery it
        has only the support, and the number of other agents in `outside`, unless `all=true`. The other formats have all rows, at most 200,000,
        unless `start` or `count` is given. With filters of details or games, ranks are those of the complete board."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}", pool=pool, method=method), query={'start': start, 'count': count, 'cursor': cursor, 'agents': agents, 'position': position, 'at': at, 'all': all, 'generation': generation, 'provisional': provisional, 'country': country, 'organisation': organisation, 'tag': tag, 'min_games': min_games, 'hidden': hidden, 'slice': slice}, accept='application/json', repeatable=True), Board)

    def download_board(self, pool: str, method: str, *, format: Literal['csv', 'jsonl', 'arrow', 'parquet'], start: int | None = None, count: int | None = None, cursor: str | None = None, agents: Sequence[str] | None = None, position: int | None = None, at: str | None = None, all: bool | None = None, generation: int | None = None, provisional: ShownProvisional | None = None, country: str | None = None, organisation: str | None = None, tag: Sequence[str] | None = None, min_games: int | None = None, hidden: bool | None = None, slice: str | None = None) -> AsyncDownload:
        r"""Return rows of a live or solved board, best first. With `position` or `at`: the board at that time, or 410 if it is not kept.

        A position at which boards of several generations are kept needs `generation`; without it, 409 names them. The header Accept or `format`
        selects JSON, CSV, JSON lines, an Arrow stream or Parquet. JSON has 50 rows by default, and `cursor` continues. Of a maximal lottery it
        has only the support, and the number of other agents in `outside`, unless `all=true`. The other formats have all rows, at most 200,000,
        unless `start` or `count` is given. With filters of details or games, ranks are those of the complete board."""
        return self._download(Call("GET", path("/v1/pools/{pool}/boards/{method}", pool=pool, method=method), query={'format': format, 'start': start, 'count': count, 'cursor': cursor, 'agents': agents, 'position': position, 'at': at, 'all': all, 'generation': generation, 'provisional': provisional, 'country': country, 'organisation': organisation, 'tag': tag, 'min_games': min_games, 'hidden': hidden, 'slice': slice}, accept='*/*', repeatable=True))

    async def get_board_around(self, pool: str, method: str, agent: str, *, count: int | None = None, slice: str | None = None) -> Board:
        r"""Return the rows around an agent. Answers 304 to If-None-Match if nothing changed.

        Percent-encode the agent's name, including slashes."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}/around/{agent}", pool=pool, method=method, agent=agent), query={'count': count, 'slice': slice}, accept='application/json', repeatable=True), Board)

    async def compare_solves(self, pool: str, method: str, *, against: int | None = None, position: int | None = None, since: str | None = None, until: str | None = None, count: int | None = None, slice: str | None = None, generation: int | None = None) -> Difference:
        r"""Return what changed from an earlier solve to the newest one of the same season, and why. Solves of two seasons are not compared.

        Of an online method: what changed from the board at `against` to the one at `position`, or from `since` to `until`. Of a solved method
        with `position`, `since` or `until`: the same, by two solves on request, which large pools are refused. Both need an archive for moments
        of which nothing is kept."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}/diff", pool=pool, method=method), query={'against': against, 'position': position, 'since': since, 'until': until, 'count': count, 'slice': slice, 'generation': generation}, accept='application/json', repeatable=True), Difference)

    async def list_solves(self, pool: str, method: str, *, slice: str | None = None) -> History:
        r"""List the kept solves of a method, newest first. Each entry has the data, parameters and quality of its solve."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}/history", pool=pool, method=method), query={'slice': slice}, accept='application/json', repeatable=True), History)

    async def explain_rating(self, pool: str, method: str, agent: str, *, flips: bool | None = None, from_: int | None = None, to: int | None = None, since: str | None = None, until: str | None = None, count: int | None = None, slice: str | None = None) -> Why:
        r"""Explain an agent's rating: contributions by opponent and by task, which sum to the rating or balance to 0.

        By an online method, they are the changes by the outcomes of the pool's history. A solved method is solved again on a checkpoint, so
        large pools are refused. With `flips`, for a solved method: few outcomes without which the rank would change, verified by a solve
        without them. With `from` or `since`: what changed since then. A moment before the present season is refused (422). With `slice`: the
        rating in the slice.
        Percent-encode the agent's name, including slashes."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/boards/{method}/why/{agent}", pool=pool, method=method, agent=agent), query={'flips': flips, 'from': from_, 'to': to, 'since': since, 'until': until, 'count': count, 'slice': slice}, accept='application/json', repeatable=True), Why)

    async def list_slices(self, pool: str) -> Slices:
        r"""List the slices of a pool: values of tags that have separate boards, with their numbers of outcomes and agents.

        The setting `slices` of the pool names the tags. A value beyond the setting `slice_values` has no slice; `beyond` counts its outcomes."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/slices", pool=pool), accept='application/json', repeatable=True), Slices)

    def get_stream(self, pool: str, *, methods: Sequence[str] | None = None, count: int | None = None, agents: Sequence[str] | None = None, slice: str | None = None) -> AsyncEvents:
        r"""Stream changes of a pool's boards and of agents' ratings as server-sent events.

        The newest state is sent at once, unless Last-Event-ID is its id. A reader that is slower than the changes gets the newest state, not
        every state. While nothing changes, a comment is sent every 15 s. With `slice`, boards and ratings are those of the slice."""
        return self._events(Call("GET", path("/v1/pools/{pool}/stream", pool=pool), query={'methods': methods, 'count': count, 'agents': agents, 'slice': slice}, accept='text/event-stream', repeatable=True))

    async def list_fair_opponents(self, pool: str, agent: str, *, count: int | None = None, method: str | None = None, slice: str | None = None) -> FairOpponents:
        r"""Return the opponents whose next game with an agent is expected to be most even, the most even first.

        They are chosen among the agents nearest to it by rating, provisional ones included. Hidden agents are left out. Percent-encode the
        name, including slashes. With `slice`: by ratings in the slice, with the scale and the record of the pool's forecasts."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/agents/{agent}/fair-opponents", pool=pool, agent=agent), query={'count': count, 'method': method, 'slice': slice}, accept='application/json', repeatable=True), FairOpponents)

    async def get_matchups(self, pool: str, *, agents: Sequence[str], method: str, slice: str | None = None) -> Matchups:
        r"""Return the expected score of each of several agents against each other, and the probability of a tie.

        With `slice`: by ratings in the slice, with the scale and the record of the pool's forecasts."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/matchups", pool=pool), query={'agents': agents, 'method': method, 'slice': slice}, accept='application/json', repeatable=True), Matchups)

    async def predict(self, pool: str, body: PredictAsked, *, slice: str | None = None) -> Predictions:
        r"""Forecast games of two or more sides by the online methods of a pool.

        Each method has the records of its earlier forecasts of games of the same shapes, and each duel has the record of its two agents against
        each other. A game of a shape with too few results has ranks of its sides and a reason, and no probability.
        With `slice`: by ratings and games in the slice, with the scale and the record of the pool's forecasts. Nothing is written, and no key
        is needed."""
        return await self._value(Call("POST", path("/v1/pools/{pool}/predict", pool=pool), query={'slice': slice}, body=body, accept='application/json', repeatable=True), Predictions)

    async def get_insight(self, pool: str, *, slice: str | None = None) -> Insight:
        r"""Report cycles, clones, links between agents, disagreements and forecasts.

        They are recomputed with the solves. Answers 304 to If-None-Match if nothing changed. With `slice`: of the outcomes of the slice alone,
        computed on request from the newest checkpoint, for at most 2,000 agents. Hidden agents are not named."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/insight", pool=pool), query={'slice': slice}, accept='application/json', repeatable=True), Insight)

    async def plan_next(self, pool: str, *, target: str | None = None, games: int | None = None, count: int | None = None, floor: float | None = None, slice: str | None = None) -> Next:
        r"""Recommend sampling rates of games (pairs of agents) or measurements (agent and task).

        Games or measurements drawn at these rates reduce the target's uncertainty fastest. With `slice`: of ratings by the outcomes of the
        slice alone. Those of hidden agents are not listed, and a hidden agent is no target."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/next", pool=pool), query={'target': target, 'games': games, 'count': count, 'floor': floor, 'slice': slice}, accept='application/json', repeatable=True), Next)

    async def send_outcomes(self, body: Sequence[SentGame | SentScores | SentRetraction | Mapping[str, Any]]) -> Accepted:
        r"""Write one outcome, an array, or an Arrow IPC stream of outcomes. Either all of them are written or none.

        Send your own ids to make retries safe: an id counts once. Where keys are set, retractions need an admin key."""
        return await self._value(Call("POST", path("/v1/outcomes"), body=with_ids(body), accept='application/json', repeatable=True), Accepted)

    async def list_pools(self, *, start: int | None = None, count: int | None = None) -> PoolList:
        r"""List all pools in the order of their names, including pools without outcomes."""
        return await self._value(Call("GET", path("/v1/pools"), query={'start': start, 'count': count}, accept='application/json', repeatable=True), PoolList)

    async def get_pool(self, pool: str) -> PoolView:
        r"""Show a pool with its newest summary, and whether its partition is being folded."""
        return await self._value(Call("GET", path("/v1/pools/{pool}", pool=pool), accept='application/json', repeatable=True), PoolView)

    async def create_pool(self, pool: str, body: PoolWanted) -> PoolView:
        r"""Create a pool. Repeating the same request changes nothing. Another kind, label or fold for an existing pool is refused."""
        return await self._value(Call("PUT", path("/v1/pools/{pool}", pool=pool), body=body, accept='application/json', repeatable=True), PoolView)

    def export_outcomes(self, pool: str, *, from_: int | None = None, to: int | None = None, since: str | None = None, until: str | None = None, agent: Sequence[str] | None = None, column: Sequence[str] | None = None, format: Format | None = None) -> AsyncDownload:
        r"""Stream a pool's outcomes and retractions as they were sent. They come from the archive, and newer ones from the log.

        If the installation has keys, a key is required: boards are public, but outcomes are not."""
        return self._download(Call("GET", path("/v1/pools/{pool}/export", pool=pool), query={'from': from_, 'to': to, 'since': since, 'until': until, 'agent': agent, 'column': column, 'format': format}, accept='*/*', repeatable=True))

    async def get_generations(self, pool: str) -> Generations:
        r"""Show the generation that readers see, the newest generation, and the waiting request."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/generations", pool=pool), accept='application/json', repeatable=True), Generations)

    async def request_generation(self, pool: str, body: GenerationAsked) -> GenerationWish:
        r"""Change settings, aliases, bans or initial ratings.

        The pool is folded again from the log, then all its live boards switch at once. Each solved board follows with its next solve.
        An empty object folds the pool again with its present settings. This resumes a stopped pool: first retract the outcomes at which it
        stops."""
        return await self._value(Call("POST", path("/v1/pools/{pool}/generations", pool=pool), body=body, accept='application/json', repeatable=False), GenerationWish)

    async def choose_leading_method(self, pool: str, body: LeadingWanted) -> PoolView:
        r"""Choose the method that the pages of a pool show first. Nothing is folded again."""
        return await self._value(Call("PUT", path("/v1/pools/{pool}/leading_method", pool=pool), body=body, accept='application/json', repeatable=True), PoolView)

    async def list_methods(self, pool: str) -> MethodChoices:
        r"""List all solved methods, each with the parameters that the pool is solved with, or the reason why it does not apply."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/methods", pool=pool), accept='application/json', repeatable=True), MethodChoices)

    async def choose_methods(self, pool: str, body: MethodsWanted) -> MethodChoices:
        r"""Choose the methods that the pool is solved by, from the next round on. They replace the present ones."""
        return await self._value(Call("PUT", path("/v1/pools/{pool}/methods", pool=pool), body=body, accept='application/json', repeatable=True), MethodChoices)

    async def list_seasons(self, pool: str) -> Seasons:
        r"""List the seasons of a pool, oldest first, with their spans and the names of their final boards."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/seasons", pool=pool), accept='application/json', repeatable=True), Seasons)

    async def start_season(self, pool: str, body: SeasonAsked) -> GenerationWish:
        r"""End the present season and start the next one.

        The final boards of the ended season are kept for ever. Settings, aliases and bans stay. With `keep`, ratings of online methods are
        carried over by a soft reset. Solved methods count the outcomes of the new season alone. Retractions that wait are applied first."""
        return await self._value(Call("POST", path("/v1/pools/{pool}/seasons", pool=pool), body=body, accept='application/json', repeatable=False), GenerationWish)

    async def withdraw_season(self, pool: str, season: str) -> Seasons:
        r"""Withdraw a season that was requested and has not begun, and return the seasons that are left.

        Changed settings that the request holds stay requested, for the present season. The name can be used again."""
        return await self._value(Call("DELETE", path("/v1/pools/{pool}/seasons/{season}", pool=pool, season=season), accept='application/json', repeatable=False), Seasons)

    async def get_season_board(self, pool: str, season: str, method: str, *, start: int | None = None, count: int | None = None, cursor: str | None = None, agents: Sequence[str] | None = None, provisional: ShownProvisional | None = None, slice: str | None = None) -> Board:
        r"""Return rows of a final board of an ended season, best first, in the formats of a board."""
        return await self._value(Call("GET", path("/v1/pools/{pool}/seasons/{season}/boards/{method}", pool=pool, season=season, method=method), query={'start': start, 'count': count, 'cursor': cursor, 'agents': agents, 'provisional': provisional, 'slice': slice}, accept='application/json', repeatable=True), Board)

    def download_season_board(self, pool: str, season: str, method: str, *, format: Literal['csv', 'jsonl', 'arrow', 'parquet'], start: int | None = None, count: int | None = None, cursor: str | None = None, agents: Sequence[str] | None = None, provisional: ShownProvisional | None = None, slice: str | None = None) -> AsyncDownload:
        r"""Return rows of a final board of an ended season, best first, in the formats of a board."""
        return self._download(Call("GET", path("/v1/pools/{pool}/seasons/{season}/boards/{method}", pool=pool, season=season, method=method), query={'format': format, 'start': start, 'count': count, 'cursor': cursor, 'agents': agents, 'provisional': provisional, 'slice': slice}, accept='*/*', repeatable=True))

    async def freshz(self, *, pool: str | None = None) -> Freshness:
        r"""Whether outcomes are being folded: 200 if every partition is folded, 503 if not. With `pool`: only the partition of this pool.

        Use it for alerts, and in writers that should wait. Boards are served in both cases, so orchestrators should probe /readyz."""
        return await self._value(Call("GET", path("/freshz"), query={'pool': pool}, accept='application/json', repeatable=False), Freshness)

    async def livez(self) -> str:
        r"""The process is alive."""
        return await self._value(Call("GET", path("/livez"), accept='text/plain', repeatable=False), str)

    async def metrics(self) -> str:
        r"""Metrics of this process for Prometheus."""
        return await self._value(Call("GET", path("/metrics"), accept='text/plain', repeatable=False), str)

    async def readyz(self) -> str:
        r"""Boards can be served, because the store answers; otherwise 503.

        Boards can be old: /freshz reports whether outcomes are being folded."""
        return await self._value(Call("GET", path("/readyz"), accept='text/plain', repeatable=False), str)

    async def get_operations(self, *, count: int | None = None) -> Operations:
        r"""Return what shards report of each partition, and the outcomes that were refused most recently, with their rules.

        If the installation has keys, a key is required: boards are public, but the texts of reports and refusals are not."""
        return await self._value(Call("GET", path("/v1/operations"), query={'count': count}, accept='application/json', repeatable=False), Operations)
