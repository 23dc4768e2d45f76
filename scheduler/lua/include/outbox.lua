-- The outbox of a lane: executions that ended without running their body (expired, cancelled while they waited, given
-- up), until a worker of the lane has reported the end to the sender. Each is scored by the time, on the clock of
-- leases, from which it may be collected. While a lane has any, a field of the settings marks it; calls read the
-- settings anyway, so that looking costs nothing if there are none. While a lane has workers, they empty it and nothing
-- is dropped, however many executions end at once: each costs no more than while it waited. If no worker came for long,
-- the oldest beyond the bound are dropped, and the next worker is told how many.
local untold = {}
do
    local ABANDONED_MS = 3600 * 1000 -- since a worker last asked for the lane: longer than any restart of its workers

    local function mark_of(lane)
        return 'outbox:' .. lane
    end

    function untold.unmark_if_empty(lane)
        if call('EXISTS', D.outbox(lane)) == 1 then return end
        if overrides[mark_of(lane)] then keep_setting(mark_of(lane)) end
    end

    -- Removes the entry of an earlier end of this id, whose record is gone, so that it is not taken for the present end.
    function untold.remove(id, lane)
        if overrides[mark_of(lane)] and call('ZREM', D.outbox(lane), id) == 1 then untold.unmark_if_empty(lane) end
    end

    local function is_abandoned(lane)
        local asked = call('HGET', K.rounds, 'lane:' .. lane)
        return not asked or math.abs(now - tonumber(asked)) > ABANDONED_MS
    end

    local function drop_untold(lane)
        if call('ZCARD', D.outbox(lane)) <= setting('max_dead_messages') or not is_abandoned(lane) then return end
        call('HINCRBY', K.rounds, 'dropped:' .. lane, drop_excess(D.outbox(lane), lane))
    end

    -- Only a message has a sender that may wait for its result; the end of an event is in the journal.
    function untold.post(id, lane)
        if call('EXISTS', D.message(id)) == 0 or call('EXISTS', D.event(id)) == 1 then return false end
        local outbox, ttl = D.outbox(lane), keep_whole(id, now)
        call('ZREMRANGEBYSCORE', outbox, '-inf', lease_now - ttl * 1000)
        call('ZADD', outbox, lease_now, id)
        call('EXPIRE', outbox, ttl) -- as long as its latest entry
        if not overrides[mark_of(lane)] then keep_setting(mark_of(lane), 1) end
        drop_untold(lane)
        untold.unmark_if_empty(lane) -- if the bound allows no entries
        return true
    end

    local function is_untold(lane)
        local first = call('ZRANGE', D.outbox(lane), 0, 0, 'WITHSCORES')
        if not first[1] then untold.unmark_if_empty(lane) end
        return first[1] and tonumber(first[2]) <= lease_now
    end

    -- Returns whether one of these lanes has an end that may be collected now.
    function untold.exist(lanes)
        for _, lane in ipairs(lanes) do
            if overrides[mark_of(lane)] and apart(is_untold, lane) then return true end
        end
        return false
    end
end
