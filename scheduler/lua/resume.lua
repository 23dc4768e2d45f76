-- resume: end a pause. A record of it is kept for a while, so that its duration does not count as waiting.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: gate, by
--   gate   a gate key, `lane:NAME` or `*` for everything
--   by     the operator who asks
-- Returns: 1 if it was paused before, else 0
-- Uses: call, keys, now, settings, changes, limits, changed, crowded, lanes, transitions
local PAUSES_KEPT = 1000 -- the latest of each name; without older ones, executions that still wait may expire early
local PAUSES_TTL_SECONDS = 30 * 86400

local function keep_pause(gate, since)
    local key = D.pauses(gate)
    call('ZADD', key, now, since)
    call('ZREMRANGEBYRANK', key, 0, -PAUSES_KEPT - 1)
    call('EXPIRE', key, PAUSES_TTL_SECONDS)
end

transition('resume', function(gate, by)
    local since = call('HGET', K.paused, gate)
    if not since then return 0 end
    call('HDEL', K.paused, gate)
    note_change('resume', gate, 'paused', '', by)
    any_paused = call('EXISTS', K.paused) == 1
    if not any_paused then keep_setting('paused') end
    if now > tonumber(since) then keep_pause(gate, since) end
    crowded.reindex(gate)
    local lane = string.match(gate, '^lane:(.*)$')
    if lane then changed.touched[lane] = true end
    if gate == '*' then wake_best() end
    return 1
end)
