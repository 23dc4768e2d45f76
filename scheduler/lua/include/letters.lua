-- Dead letters, by when they became such, for a limited time and in a limited number: the oldest go first, a few a call.
-- The journal tells of each that goes, since the ledger has it as a dead letter until then.
local keep_dead, drop_letter, drop_excess, drop_expired
do
    local DROPPED_A_CALL = 10
    local UNKNOWN = {state = '', lane = '', band = '', action = ''}

    -- `since`: when it ended, if that was before. The caller drops the excess afterwards, once the execution is in its
    -- outbox, too: it may be the oldest itself.
    function keep_dead(id, since)
        keep_whole(id, since or now)
        call('ZADD', K.dead, since or now, id)
    end

    -- A dead letter since `dead_at` is none any more. Its record may have expired, at the instant at which its time was
    -- over: then the journal has only its id. Returns whether that is not the id of an execution that lives.
    function drop_letter(id, dead_at, ...)
        local m = load_end(id)
        if m then leave_unless_kept(id, m) elseif call('EXISTS', D.meta(id)) == 1 then return false end
        m = m or UNKNOWN
        journal('drop', id, m, 'state', m.state, 'dead_at', dead_at, ...)
        return true
    end

    local function drop_end(id, lane)
        local m = load_end(id, lane)
        if not m then return end
        leave_unless_kept(id, m)
        journal('drop', id, m, 'state', m.state, 'reason', 'max_dead_messages')
    end

    -- Drops the oldest entries beyond the maximum, of the dead letters or of a lane's outbox. Returns how many.
    function drop_excess(kept, lane)
        local excess = call('ZCARD', kept) - setting('max_dead_messages')
        if excess <= 0 then return 0 end
        local oldest = call('ZPOPMIN', kept, math.min(excess, DROPPED_A_CALL))
        for i = 1, #oldest, 2 do
            local id, at = oldest[i], oldest[i + 1]
            if lane then drop_end(id, lane) else drop_letter(id, at, 'reason', 'max_dead_messages') end
        end
        return #oldest / 2
    end

    -- Drops dead letters whose time is over. Returns whether there may be more.
    function drop_expired()
        local before = now - setting('dead_message_ttl_seconds') * 1000
        local over = call('ZRANGEBYSCORE', K.dead, '-inf', before, 'WITHSCORES', 'LIMIT', 0, DROPPED_A_CALL)
        for i = 1, #over, 2 do
            call('ZREM', K.dead, over[i])
            apart(drop_letter, over[i], over[i + 1], 'reason', 'dead_message_ttl')
        end
        return #over == 2 * DROPPED_A_CALL
    end
end
