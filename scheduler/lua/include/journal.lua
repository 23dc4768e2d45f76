-- One execution's meta hash, and the journal: every transition appends one entry in the script that makes it.
local function load(id)
    local flat = redis.call('HGETALL', D.meta(id))
    if #flat == 0 then return nil end
    local m = {}
    for i = 1, #flat, 2 do m[flat[i]] = flat[i + 1] end
    return m
end

local function journal(verb, id, m, ...)
    redis.call('XADD', K.journal, 'MAXLEN', '~', setting('journal_max_entries'), '*', 'verb', verb, 'id', id,
        'at', now, 'attempt', m.attempt or 0, 'lane', m.lane, 'band', m.band, 'action', m.action,
        'user', m.user or '', ...)
end

-- The event and the message live as long as the execution does (D4); their TTL only collects what is orphaned.
local function refresh_payload(id)
    local ttl = setting('event_ttl_seconds')
    redis.call('EXPIRE', D.event(id), ttl)
    redis.call('EXPIRE', D.message(id), ttl)
end
