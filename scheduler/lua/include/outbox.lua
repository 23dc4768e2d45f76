-- The outbox of a lane: executions that ended with no body there to end with them (expired, cancelled while they waited,
-- given up), until a worker of the lane has told whoever sent them. They stand there by the time, on the clock of leases,
-- from which one may be collected. While there are any, a field of the settings says so, which every call reads anyway:
-- where there are none it costs nothing to look. Workers that come empty it, so while a lane has some, nothing is dropped,
-- however many end at once: each costs no more than it did while it waited. Where nobody came for long, the oldest beyond
-- the bound go; how many, the next worker is told.
local function mark_of(lane)
    return 'outbox:' .. lane
end

local function unmark_if_empty(lane)
    if call('EXISTS', D.outbox(lane)) == 1 then return end
    if overrides[mark_of(lane)] then keep_setting(mark_of(lane)) end
end

local drop_untold
do
    local ABANDONED_MS = 3600 * 1000 -- so long nobody asked for the lane: longer than any restart of its workers

    local function is_abandoned(lane)
        local asked = call('HGET', K.rounds, 'lane:' .. lane)
        return not asked or math.abs(now - tonumber(asked)) > ABANDONED_MS
    end

    function drop_untold(lane)
        if call('ZCARD', D.outbox(lane)) <= setting('max_dead_messages') or not is_abandoned(lane) then return end
        call('HINCRBY', K.rounds, 'dropped:' .. lane, drop_excess(D.outbox(lane), lane))
    end
end

-- An earlier end of this id, whose record is gone: what ends now is none that is to be told, unless it is posted.
local function unpost(id, lane)
    if overrides[mark_of(lane)] and call('ZREM', D.outbox(lane), id) == 1 then unmark_if_empty(lane) end
end

-- Only what has a message was sent by a sender who may wait for its result: the end of an event is in the journal.
local function post(id, lane)
    if call('EXISTS', D.message(id)) == 0 or call('EXISTS', D.event(id)) == 1 then return false end
    local outbox, ttl = D.outbox(lane), keep_whole(id)
    call('ZREMRANGEBYSCORE', outbox, '-inf', lease_now - ttl * 1000)
    call('ZADD', outbox, lease_now, id)
    call('EXPIRE', outbox, ttl) -- as long as the latest of them
    if not overrides[mark_of(lane)] then keep_setting(mark_of(lane), 1) end
    drop_untold(lane)
    unmark_if_empty(lane) -- where none may be kept
    return true
end

-- Whether something may be collected from one of these lanes now.
local has_untold
do
    local function is_untold(lane)
        local first = call('ZRANGE', D.outbox(lane), 0, 0, 'WITHSCORES')
        if not first[1] then unmark_if_empty(lane) end
        return first[1] and tonumber(first[2]) <= lease_now
    end

    function has_untold(lanes)
        for _, lane in ipairs(lanes) do
            if overrides[mark_of(lane)] and apart(is_untold, lane) then return true end
        end
        return false
    end
end
