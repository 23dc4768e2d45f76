-- reprioritise: move a waiting execution to another band at its own time.
-- Atomic: only while it waits, so what was just admitted is never added again (D12); the time is unique, so it ties
-- with nobody there.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, id, band
--   caller number   the request token
-- Returns: {code, state}; code OK | UNKNOWN | ENDED | NOT_WAITING
-- include: keys settings time reply journal gates lanes memory
local id, band = ARGV[3], tonumber(ARGV[4])

pass_at_maxmemory()
local replay = said()
if replay then return replay end

local m = load(id)
if not m then return answer({'UNKNOWN', ''}) end
if m.ended_at then return answer({'ENDED', m.state}) end
if m.state ~= 'PENDING' and m.state ~= 'SCHEDULED' then return answer({'NOT_WAITING', m.state}) end

local from = m.band
redis.call('HSET', D.meta(id), 'band', band)
if m.state == 'PENDING' then
    local score = exact(tonumber(m.score) + (band - from) * BAND_WIDTH_MS)
    redis.call('HSET', D.meta(id), 'score', score)
    redis.call('ZADD', K.pending, score, id)
    if m.behind then
        redis.call('ZADD', D.waiting(m.behind, m.lane), score, id)
        reindex(m.behind)
    else
        redis.call('ZADD', D.ready(m.lane), score, id)
    end
    touched[m.lane] = true
end
m.band = band
journal('reprioritise', id, m, 'state', m.state, 'from', from)
settle_lanes()
return answer({'OK', m.state})
