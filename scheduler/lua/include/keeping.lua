-- The data kept of an ended execution, so that late duplicates and callers are recognised. In the default lane, whose
-- ends are asked for, it is meta; in other lanes a tombstone. Dead letters and ends not yet reported keep all data, for
-- a limited time and in a limited number (`letters`, `outbox`).
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

-- Keeps event, message, meta and result, as if since then. Returns for how many seconds.
local function keep_whole(id, since)
    local ttl = setting('dead_message_ttl_seconds') - math.floor((now - since) / 1000)
    for _, key in ipairs({D.event(id), D.message(id), D.meta(id), D.result(id)}) do call('EXPIRE', key, ttl) end
    return ttl
end

-- Returns the record of an ended execution, of this lane if one is given. A dead letter's or outbox's entry may outlive
-- its record; it must not be taken for a later execution with its id, one that lives or is of another lane.
local function load_end(id, lane)
    local m = load(id)
    return m and m.ended_at and (not lane or m.lane == lane) and m or nil
end

-- For one that is taken out of the dead letters or its lane's outbox: it may be in the other still.
local function leave_unless_kept(id, m)
    if call('ZSCORE', K.dead, id) or call('ZSCORE', D.outbox(m.lane), id) then return end
    leave_record(id, m, m.state)
end
