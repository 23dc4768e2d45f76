-- Executions that are due become PENDING, scored by their due time.
local PUT_OFF_MS = 1000 -- until an execution that failed on damaged data is tried again, so that it holds up no others

local function first_at(timed)
    local head = call('ZRANGE', timed, 0, 0, 'WITHSCORES')
    return tonumber(head[2])
end

local promote_due
do
    local function promote_one(id, due)
        local m = load(id)
        call('ZREM', K.scheduled, id)
        if m and m.state == 'SCHEDULED' and not occurrences.hold_back(id, m, tonumber(due)) then
            fair.place(m, next_time(tonumber(due)))
            enter_pending(id, m, 'waiting_since', now)
            journal('promote', id, m, 'state', 'PENDING', 'score', m.score, 'due', m.due or '')
        elseif not m then
            delete_payload(id)
        end
        return true
    end

    -- Returns how many were promoted, and when the next one is due, if there is one.
    function promote_due(bound)
        local at = first_at(K.scheduled)
        if not at or at >= now + 1 then return 0, at end
        local due = call('ZRANGEBYSCORE', K.scheduled, '-inf', '(' .. exact(now + 1), 'WITHSCORES', 'LIMIT', 0, bound)
        for i = 1, #due, 2 do
            local id = due[i]
            if not apart(promote_one, id, due[i + 1]) then call('ZADD', K.scheduled, now + PUT_OFF_MS, id) end
        end
        return #due / 2, first_at(K.scheduled)
    end
end
