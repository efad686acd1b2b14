"""The store's Lua scripts, for reads and writes that must be one atomic step. They use commands of Redis 6.2 and declare all their keys.

Scripts return plain strings and integers, so that clients of RESP2 and RESP3 read the same. Numbers that must stay exact are sent as text.
In the descriptions of arguments, nil is the answer for something that does not exist.
"""

from collections.abc import Mapping
from hashlib import sha1
from types import MappingProxyType
from typing import Final, NamedTuple

ACCEPTED: Final = 1
FENCED: Final = 0
LOST: Final = -1
MOVED: Final = -2


class Script(NamedTuple):
    """Text of a script, and its SHA-1 digest, by which EVALSHA calls it."""

    text: str
    sha: str


def _script(text: str) -> Script:
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


CLAIM: Final = _script(
    """
local wanted = {tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])}
local function older(a, b)
  for i = 1, 3 do
    if a[i] ~= b[i] then return a[i] < b[i] end
  end
  return false
end
local stands = redis.call('HMGET', KEYS[1], 'epoch', 'committed', 'generation', 'position')
if (tonumber(stands[1] or '') or -1) > wanted[1] then return 0 end
local committed = stands[2] and {tonumber(stands[2]), tonumber(stands[3]), tonumber(stands[4])}
if ARGV[4] ~= '' then
  if not committed or older(committed, {tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])}) then return -1 end
end
local shown = committed
if not shown then
  local sound, head = pcall(cjson.decode, redis.call('GET', KEYS[2]) or '')
  if sound and type(head) == 'table' and head.generation and head.position then shown = {0, head.generation, head.position} end
end
if shown and (wanted[2] < shown[2] or wanted[3] < shown[3]) then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'token', ARGV[7])
return 1
"""
)
"""Begins a publication. KEYS: fence, head. ARGV[1..3]: epoch, generation and position of the writer. ARGV[4..6]: the same of its last
commit ('' if none). ARGV[7]: token of this publication, which begins with the epoch; the next claim replaces it. Positions are below 2^53,
so Lua's doubles compare them exactly. Returns 0 for an epoch that is not the newest, and for a generation or a position below the committed
one, or below that of the head if the store lost the fence; -1 if the store lost the writer's last commit."""

_HOLD = """
local stands = redis.call('HMGET', KEYS[1], 'token', 'epoch')
if not stands[1] then return -1 end
if stands[1] ~= ARGV[1] then
  if (tonumber(stands[2] or '') or -1) > tonumber(string.match(ARGV[1], '^%d+')) then return 0 end
  return -1
end
"""
"""Checks that the fence still holds the token of this publication. A token of a newer epoch means that the write is fenced (0). Any other
token, or none, means that the server lost this claim (-1), for example because a replica took over."""

WRITE: Final = _script(
    _HOLD
    + """
local function put(own, other, packed)
  local flat = cmsgpack.unpack(packed)
  if #flat == 0 then return end
  redis.call('ZADD', own, unpack(flat))
  redis.call('PERSIST', own)
  local names = {}
  for i = 2, #flat, 2 do table.insert(names, flat[i]) end
  redis.call('ZREM', other, unpack(names))
end
put(KEYS[2], KEYS[3], ARGV[3])
put(KEYS[3], KEYS[2], ARGV[4])
redis.call('SADD', KEYS[4], ARGV[2])
if KEYS[5] then
  redis.call('HSET', KEYS[5], unpack(cmsgpack.unpack(ARGV[5])))
  redis.call('PERSIST', KEYS[5])
end
return 1
"""
)
"""Writes changed agents of a live board. KEYS: fence, settled agents, provisional agents, set of boards, and beliefs if the method holds
them. ARGV[1]: token. ARGV[2]: "generation/method". ARGV[3]: {score, member, ...} of settled agents in MessagePack, which are then not
provisional. ARGV[4]: the same of provisional agents. ARGV[5]: {member, belief, ...} in MessagePack. Scores stay exact, because Redis writes
a script's doubles with 17 digits; beliefs are texts."""

COMMIT: Final = _script(
    _HOLD
    + """
local excess = {1}
for i = 7, #ARGV, 2 do
  local at, total = (i - 7) / 2 * 3 + 4, tonumber(ARGV[i + 1])
  local board, provisional, beliefs = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local held = redis.call('ZCARD', board) + redis.call('ZCARD', provisional)
  if held < total or (beliefs ~= board and redis.call('HLEN', beliefs) < total) then return -1 end
  if held > total then table.insert(excess, ARGV[i]) end
end
redis.call('SET', KEYS[2], ARGV[5])
redis.call('HSET', KEYS[1], 'committed', ARGV[2], 'generation', ARGV[3], 'position', ARGV[4], 'done', ARGV[1], 'season', ARGV[6])
for i = 7, #ARGV, 2 do redis.call('SADD', KEYS[3], ARGV[i]) end
for _, field in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  if string.match(field, '^(%d+)/') ~= ARGV[3] then table.insert(excess, field) end
end
return excess
"""
)
"""Commits the writes of a token. KEYS: fence, head, set of boards, and for each live board of known size the keys of its settled agents, of
its provisional ones and of its beliefs (the first key again if it has none). ARGV: token, epoch, generation, position, head, first
generation of the season, and for each such board "generation/method" and its number of agents. Returns {1, boards...}: those of this
generation with more agents, and all boards of other generations; -1 also if a board has fewer agents, because the store evicted some. The
fence keeps the token as `done`: a later claim of which nothing was committed has another one."""

TRIM: Final = _script(
    _HOLD
    + """
local names = cmsgpack.unpack(ARGV[2])
redis.call('ZREM', KEYS[2], unpack(names))
redis.call('ZREM', KEYS[3], unpack(names))
redis.call('HDEL', KEYS[4], unpack(names))
return 1
"""
)
"""Removes agents from a live board. KEYS: fence, its settled agents, its provisional ones, its beliefs. ARGV: token, {member, ...} in
MessagePack."""

REMOVE: Final = _script(
    """
if ARGV[1] ~= '' and (tonumber(redis.call('HGET', KEYS[1], 'epoch') or '') or -1) > tonumber(ARGV[1]) then return 0 end
for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
return 1
"""
)
"""Removes keys of a pool. KEYS: fence, other keys. ARGV: largest epoch in the fence for which they are removed; '' for any. Returns 0 for a
higher epoch."""

_PAGE = """
local function each(command, key, rows)
  local names, found = {}, {}
  for i = 1, #rows, 2 do table.insert(names, rows[i]) end
  for first = 1, #names, 1000 do
    local some = redis.call(command, key, unpack(names, first, math.min(first + 999, #names)))
    for _, value in ipairs(some) do table.insert(found, value) end
  end
  return found
end
local function page(start, stop, ranked, total)
  local rows, better = {}, 0
  if start < ranked then
    rows = redis.call('ZRANGE', KEYS[1], start, stop, 'WITHSCORES')
    if #rows > 0 then better = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. rows[2]) end
  end
  if stop >= ranked and ranked < total then
    local others = redis.call('ZRANGE', KEYS[2], math.max(0, start - ranked), stop - ranked, 'WITHSCORES')
    for _, value in ipairs(others) do table.insert(rows, value) end
  end
  local fence = redis.call('HMGET', KEYS[4], 'token', 'done')
  local token = fence[1] and fence[1] == fence[2] and fence[1] or ''
  local counts = string.format('[%d,%d,%d,%d,', total, ranked, start, better)
  if #rows == 0 then return counts .. cjson.encode(token) .. ',[],[],[]]' end
  local beliefs = KEYS[5] and cjson.encode(each('HMGET', KEYS[5], rows)) or '[]'
  local parts = {cjson.encode(token), cjson.encode(rows), cjson.encode(each('ZMSCORE', KEYS[3], rows)), beliefs}
  return counts .. table.concat(parts, ',') .. ']'
end
local function window(index, count, total)
  local start = math.max(0, math.min(index - math.floor(count / 2), total - count))
  return start, start + count - 1
end
"""

PAGE: Final = _script(
    _PAGE
    + """
local start, ranked = tonumber(ARGV[1]), redis.call('ZCARD', KEYS[1])
return page(start, start + tonumber(ARGV[2]) - 1, ranked, ranked + redis.call('ZCARD', KEYS[2]))
"""
)
"""Reads rows of a live board: settled agents, then provisional ones. KEYS: settled agents, provisional agents, the pool's activity, the
fence, and the board's beliefs if it has them. ARGV: start, count. Returns a JSON text, because clients parse one text much faster than an
array of its values: [total, number of settled agents, start, number of settled agents strictly better than the first row, token, [agent,
score, ...], [activity, ...], [belief, ...]]. The token is that of the publication whose rows these are;
empty if one is under way. The last two lists have a text for each row, false for an agent without a value; without a key of beliefs, the
last one is empty."""

AROUND: Final = _script(
    _PAGE
    + """
local ranked = redis.call('ZCARD', KEYS[1])
local total, index = ranked + redis.call('ZCARD', KEYS[2]), redis.call('ZRANK', KEYS[1], ARGV[1])
if not index then
  index = redis.call('ZRANK', KEYS[2], ARGV[1])
  if not index then return false end
  index = index + ranked
end
local start, stop = window(index, tonumber(ARGV[2]), total)
return page(start, stop, ranked, total)
"""
)
"""Reads rows of a live board with an agent in the middle. KEYS and answer as PAGE. ARGV: agent, count. Returns nil if the agent is not on
the board."""

NEAREST: Final = _script(
    _PAGE
    + """
local score = redis.call('ZSCORE', KEYS[1], ARGV[1]) or redis.call('ZSCORE', KEYS[2], ARGV[1])
if not score then return false end
local most, ranked, provisional = tonumber(ARGV[2]), redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[2])
local first, last, set = 0, ranked, KEYS[1]
if ARGV[3] == 'provisional' then first, last, set = ranked, ranked + provisional, KEYS[2] end
local index = first + redis.call('ZCOUNT', set, '-inf', '(' .. score)
return page(math.max(first, index - most), math.min(last - 1, index + most), ranked, ranked + provisional)
"""
)
"""Reads the rows of a live board that are nearest to an agent by rating, among the settled or among the provisional agents: at most as many
better ones as asked for, and one more of the others, which may be the agent itself. KEYS and answer as PAGE. ARGV: agent, most,
'settled' or 'provisional'. Returns nil if the agent is not on the board."""

FLIP: Final = _script(
    """
local stands = redis.call('HMGET', KEYS[1], 'generation', 'position', 'version', 'sequence')
if (stands[3] or '') ~= ARGV[4] then return -2 end
if (tonumber(stands[4] or '') or 0) > tonumber(ARGV[9]) then return 0 end
if redis.call('LLEN', KEYS[3]) ~= tonumber(ARGV[5]) or redis.call('HLEN', KEYS[4]) ~= tonumber(ARGV[5]) then return -1 end
local generation, position = tonumber(stands[1] or ''), tonumber(stands[2] or '')
local g, p = tonumber(ARGV[1]), tonumber(ARGV[2])
if generation and (generation > g or (generation == g and position > p)) then return 0 end
redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'position', ARGV[2], 'version', ARGV[3], 'total', ARGV[5], 'board', ARGV[6],
  'sequence', ARGV[9])
redis.call('PERSIST', KEYS[1])
if ARGV[10] == '' then redis.call('SADD', KEYS[2], ARGV[7]) else redis.call('HSET', KEYS[2], ARGV[7], ARGV[3], '', ARGV[3]) end
redis.call('PERSIST', KEYS[3])
redis.call('PERSIST', KEYS[4])
if ARGV[4] ~= '' then
  redis.call('EXPIRE', KEYS[5], ARGV[8])
  redis.call('EXPIRE', KEYS[6], ARGV[8])
end
return 1
"""
)
"""Switches the pointer of a solved board to new rows. KEYS: pointer, names of boards, new rows, new index, old rows, old index. ARGV:
generation, position, new version, old version ('' for none), total, board, name, seconds for which the old rows are kept, sequence of the
solve, '' or 'slice'. Names of boards are a set; those of slices a hash, whose field '' changes with each board. Returns 0 if a board with a
higher generation, position or sequence is published, or if the pointer alone has a higher sequence (`remove`); -1 if the number of new rows
is wrong (the store lost rows, or took some twice); and -2 if the pointer no longer has the old version (try again)."""

RETIRE: Final = _script(
    """
if (redis.call('HGET', KEYS[1], 'version') or '') ~= ARGV[1] then return -2 end
if ARGV[6] == '' then redis.call('SREM', KEYS[2], ARGV[2])
else
  redis.call('HDEL', KEYS[2], ARGV[2])
  redis.call('HSET', KEYS[2], '', ARGV[6])
end
redis.call('DEL', KEYS[1], KEYS[3])
redis.call('HSET', KEYS[1], 'sequence', ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('EXPIRE', KEYS[4], ARGV[5])
redis.call('EXPIRE', KEYS[5], ARGV[5])
return 1
"""
)
"""Removes a solved board. KEYS: pointer, names of boards, history, rows, index. ARGV: version ('' for none), name, sequence below which
boards are refused, seconds for which they are, seconds for which the rows are kept, '' or a token of the change for a board of a slice.
Returns -2 if the pointer has another version (try again)."""

REPLACE: Final = _script(
    """
local newest = redis.call('HGET', KEYS[2], 'sequence')
if ARGV[1] ~= '' and newest and tonumber(newest) > tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
for i = 2, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
return 1
"""
)
"""Replaces a list, unless a solved board has a higher sequence. KEYS: list, pointer. ARGV: sequence ('' for none), the new texts. Returns 0
if nothing was written."""

APPEND: Final = _script(
    """
local length, before, last = redis.call('LLEN', KEYS[1]), redis.call('LINDEX', KEYS[1], -2), redis.call('LINDEX', KEYS[1], -1)
if length == tonumber(ARGV[2]) and before == ARGV[3] and last == ARGV[4] then return 1 end
local removed, places = {}, {}
for i = 7, #ARGV do removed[ARGV[i]] = true end
local short = nil
for i = 0, length - 1, 2 do
    local first = redis.call('LINDEX', KEYS[1], i)
    if removed[first] then table.insert(places, i) end
    if first == ARGV[5] then short = i + 1 end
end
if before ~= ARGV[1] or length + 2 - 2 * #places ~= tonumber(ARGV[2]) then return 0 end
if short then redis.call('LSET', KEYS[1], short, ARGV[6]) end
redis.call('RPUSH', KEYS[1], ARGV[3], ARGV[4])
for _, i in ipairs(places) do
    redis.call('LSET', KEYS[1], i, '')
    redis.call('LSET', KEYS[1], i + 1, '')
end
redis.call('LREM', KEYS[1], 0, '')
return 1
"""
)
"""Appends a pair of texts to a list of pairs, and removes pairs. KEYS: list. ARGV: first text of its last pair, the length that it must
have afterwards, the two texts, the first text of a pair and its new second text ('' and '' for none), first texts of the pairs to remove.
Returns 1 if the list is so, or was already. Returns 0, without a change, if the last pair or the length would be another one."""

EVERY_OTHER: Final = _script(
    """
local found = {}
for i = 0, redis.call('LLEN', KEYS[1]) - 1, 2 do table.insert(found, redis.call('LINDEX', KEYS[1], i)) end
return found
"""
)
"""Reads the texts 0, 2, 4, ... of a list. KEYS: list."""

SOLVED_AROUND: Final = _script(
    _PAGE
    + """
local index = redis.call('HGET', KEYS[2], ARGV[1])
if not index then return false end
local start, stop = window(tonumber(index), tonumber(ARGV[2]), redis.call('LLEN', KEYS[1]))
return redis.call('LRANGE', KEYS[1], start, stop)
"""
)
"""Reads rows of a solved board with an agent in the middle. KEYS: rows, index. ARGV: agent, count. Returns nil if the agent is not on the
board."""

STRENGTHS: Final = _script(
    """
local beliefs = KEYS[3] and redis.call('HMGET', KEYS[3], unpack(ARGV)) or {}
return {redis.call('ZMSCORE', KEYS[1], unpack(ARGV)), redis.call('ZMSCORE', KEYS[2], unpack(ARGV)), beliefs}
"""
)
"""Reads ratings and beliefs of agents of a live board in one step. KEYS: settled agents, provisional agents, and beliefs if the method
holds them. ARGV: agents. Returns the scores of settled agents, those of provisional agents, and the beliefs, nil for agents that
are not there; without a key of beliefs, the last list is empty."""

BEAT: Final = _script(
    """
local now = redis.call('TIME')
local at = tonumber(now[1]) + tonumber(now[2]) / 1000000
for i = 3, #ARGV, 3 do
  local stands = redis.call('HGET', KEYS[1], ARGV[i])
  local epoch, since = string.match(stands or '', '^(%d+) (%S+) ')
  local kept = epoch and tonumber(epoch) > tonumber(ARGV[i + 1]) and at - (tonumber(since) or 0) < tonumber(ARGV[1])
  if not kept then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1] .. ' ' .. string.format('%.6f', at) .. ' ' .. ARGV[i + 2]) end
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
"""
)
"""Writes heartbeats as "EPOCH TIME HEARTBEAT", with the time of the server's clock. KEYS: heartbeats. ARGV: seconds for which a heartbeat
of a higher epoch is not replaced, seconds after which the hash expires, and for each partition its number, its owner's epoch and its
heartbeat."""

ALL: Final[Mapping[str, str]] = MappingProxyType(
    {
        script.sha: script.text
        for script in (
            CLAIM,
            WRITE,
            COMMIT,
            TRIM,
            REMOVE,
            PAGE,
            AROUND,
            FLIP,
            RETIRE,
            REPLACE,
            APPEND,
            EVERY_OTHER,
            NEAREST,
            SOLVED_AROUND,
            STRENGTHS,
            BEAT,
        )
    }
)
