-- One execution's meta hash, and the journal: every transition appends one entry in the script that makes it.
-- `load` reads the whole hash; transitions that happen for every execution read only the fields that they need.
local function load(id)
    local flat = call('HGETALL', D.meta(id))
    if #flat == 0 then return nil end
    local m = {}
    for i = 1, #flat, 2 do m[flat[i]] = flat[i + 1] end
    return m
end

-- Reads a PENDING execution.
local function load_candidate(id)
    local v = call('HMGET', D.meta(id), 'lane', 'band', 'action', 'user', 'gates', 'attempt', 'score',
        'waiting_since', 'timeout_ms', 'expires_at', 'accepted_at')
    return v[1] and {lane = v[1], band = v[2], action = v[3], user = v[4], gates = v[5], attempt = v[6], score = v[7],
        waiting_since = v[8] or v[11], timeout_ms = v[9], expires_at = v[10], state = 'PENDING'} or nil
end

local LIVING = {SCHEDULED = true, PENDING = true, RUNNING = true, POD = true, CANCELLING = true}

local function load_holder(id)
    local v = call('HMGET', D.meta(id), 'lane', 'band', 'action', 'user', 'gates', 'attempt', 'score', 'state',
        'cancel', 'nonce', 'lasting', 'unique')
    return v[1] and {lane = v[1], band = v[2], action = v[3], user = v[4], gates = v[5], attempt = v[6], score = v[7],
        state = v[8], ended_at = not LIVING[v[8]], cancel = v[9], nonce = v[10], lasting = v[11], unique = v[12]} or nil
end

-- Reads a field that load_candidate and load_holder leave out: each field costs a scan of the hash.
local function field(id, name)
    return call('HGET', D.meta(id), name)
end

local function journal(verb, id, m, ...)
    append('verb', verb, 'id', id, 'at', now, 'attempt', m.attempt or 0, 'lane', m.lane, 'band', m.band,
        'action', m.action, 'user', m.user or '', ...)
end
