-- One execution's meta hash, and the journal: every transition appends one entry in the script that makes it.
-- `load` reads all of it; where a script is called for each execution, it reads the fields that it needs, by their names.
local function load(id)
    local flat = call('HGETALL', D.meta(id))
    if #flat == 0 then return nil end
    local m = {}
    for i = 1, #flat, 2 do m[flat[i]] = flat[i + 1] end
    return m
end

local function load_candidate(id)
    local v = call('HMGET', D.meta(id), 'lane', 'band', 'action', 'user', 'gates', 'attempt', 'score', 'behind',
        'waiting_since', 'paused_before', 'timeout_ms', 'state')
    return v[1] and {lane = v[1], band = v[2], action = v[3], user = v[4], gates = v[5], attempt = v[6], score = v[7],
        behind = v[8], waiting_since = v[9], paused_before = v[10], timeout_ms = v[11], state = v[12]} or nil
end

local function load_holder(id)
    local v = call('HMGET', D.meta(id), 'lane', 'band', 'action', 'user', 'gates', 'attempt', 'score', 'state',
        'ended_at', 'cancel', 'cancel_reason')
    return v[1] and {lane = v[1], band = v[2], action = v[3], user = v[4], gates = v[5], attempt = v[6], score = v[7],
        state = v[8], ended_at = v[9], cancel = v[10], cancel_reason = v[11]} or nil
end

local function journal(verb, id, m, ...)
    call('XADD', K.journal, 'MAXLEN', '~', setting('journal_max_entries'), '*', 'verb', verb, 'id', id,
        'at', now, 'attempt', m.attempt or 0, 'lane', m.lane, 'band', m.band, 'action', m.action,
        'user', m.user or '', ...)
end

-- The event and the message live as long as the execution does (D4); their TTL only collects what is orphaned.
local function refresh_payload(id)
    local ttl = setting('event_ttl_seconds')
    call('EXPIRE', D.event(id), ttl)
    call('EXPIRE', D.message(id), ttl)
end
