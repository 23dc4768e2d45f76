-- The data kept of an ended execution, so that late duplicates and callers are recognised. In the default lane, whose
-- ends are asked for, it is meta; in other lanes a tombstone. Dead letters and ends not yet reported keep all data, for
-- a limited time and in a limited number: the oldest go first, a few a call.
local function delete_payload(id)
    call('DEL', D.event(id), D.message(id))
end

-- Reduces an ended execution to its record. A direct message with a made-up id comes again within minutes or never;
-- others may come back much later, from a list, a hint or a hook.
local function leave_record(id, m, state)
    if m.lane == OWN_LANE then
        delete_payload(id)
        call('EXPIRE', D.meta(id), setting('meta_ttl_seconds'))
        return
    end
    local lasting = m.lasting
    if lasting == nil then lasting = field(id, 'lasting') end
    local ttl = setting(lasting and 'meta_ttl_seconds' or 'direct_ttl_seconds')
    call('DEL', D.meta(id), D.event(id), D.message(id))
    local sending = lasting and lasting ~= '1' and ' ' .. lasting or ''
    call('SET', D.ended(id), state .. ' ' .. (m.attempt or 0) .. sending, 'EX', ttl)
end

-- Keeps event, message, meta and result. Returns for how many seconds.
local function keep_whole(id)
    local ttl = setting('dead_message_ttl_seconds')
    for _, key in ipairs({D.event(id), D.message(id), D.meta(id), D.result(id)}) do call('EXPIRE', key, ttl) end
    return ttl
end

-- Returns the record of an ended execution, of this lane if one is given. A dead letter's or outbox's entry may outlive
-- its record; it must not be taken for a later execution with its id, one that lives or is of another lane.
local function load_end(id, lane)
    local m = load(id)
    return m and m.ended_at and (not lane or m.lane == lane) and m or nil
end

local function is_kept(id, lane)
    return call('ZSCORE', K.dead, id) or call('ZSCORE', D.outbox(lane), id)
end

-- Drops the oldest entries beyond the maximum, of the dead letters or of a lane's outbox. Returns how many.
local function drop_excess(kept, lane)
    local DROPPED_A_CALL = 10
    local excess = call('ZCARD', kept) - setting('max_dead_messages')
    if excess <= 0 then return 0 end
    local oldest = call('ZPOPMIN', kept, math.min(excess, DROPPED_A_CALL))
    for i = 1, #oldest, 2 do
        local id = oldest[i]
        local m = load_end(id, lane)
        if m and not is_kept(id, m.lane) then leave_record(id, m, m.state) end
        if m then journal('drop', id, m, 'state', m.state, 'reason', 'max_dead_messages') end
    end
    return #oldest / 2
end

-- The caller drops the excess afterwards, once the execution is in its outbox, too: it may be the oldest itself.
local function keep_dead(id)
    local ttl = keep_whole(id)
    call('ZREMRANGEBYSCORE', K.dead, '-inf', now - ttl * 1000)
    call('ZADD', K.dead, now, id)
end
