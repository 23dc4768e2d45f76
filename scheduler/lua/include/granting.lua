-- The best eligible executions of one lane take a slot each, under every limit at once. An execution found stale, lost
-- or behind a closed gate is moved where it belongs, and the next one is looked at, up to a bound of moves a call.
local admit_lane
do
    local function grant(grants, id, m, gates, left, lease_ms)
        m.attempt = tonumber(m.attempt or 0) + 1
        take_slot(id, m.lane) -- first: if the data of slots or a gate is damaged, it goes on waiting
        hold(id, gates)
        local behind = leave_pending(id, m)
        count_user(m, -1)
        index_held(gates, left, behind)
        local lease = lease_ms > 0 and lease_ms or lease_over_all(m)
        call('ZADD', K.lease, lease_now + lease, lease_of(id, m))
        call('HSET', D.meta(id), 'state', 'RUNNING', 'attempt', m.attempt, 'nonce', nonce, 'granted_at', now)
        journal('admit', id, m, 'state', 'RUNNING', 'waited_ms', now - tonumber(m.waiting_since))
        local n = #grants
        grants[n + 1], grants[n + 2], grants[n + 3], grants[n + 4] = id, m.attempt, m.lane, lease
    end

    -- Grants one candidate, or moves it out of the way.
    local function consider(grants, id, m, lease_ms)
        local why = staleness(m)
        if why then return expire(id, m, why) end
        if not has_payload(id) then
            leave_waiting(id, m)
            return finish(id, m, 'lose', 'FAILED', 'event_lost', false)
        end
        local gates = gates_of(m)
        local closed, left = closed_gate(gates)
        if closed then return move_behind(id, m, closed) end
        if grants[1] and has_read_too_much() then return end -- the next call will grant it first
        return grant(grants, id, m, gates, left, lease_ms)
    end

    -- Adds up to `count` grants of this lane to `grants`, only of scores up to `ceiling` if given. Returns whether
    -- there may be more for another call: this one is spent, or the next candidate's score is above the ceiling.
    function admit_lane(lane, grants, count, lease_ms, max_active, ceiling)
        if is_paused('lane:' .. lane) then return false end
        touched[lane] = true
        while #grants < count * GRANT_FIELDS and free_slots(lane, max_active) > 0 do
            look_again(lane)
            if is_spent() then return true end
            local id, score, gate = best_candidate(lane, math.min(count - #grants / GRANT_FIELDS, free_slots(lane, max_active)))
            if not id then return false end
            if ceiling and tonumber(score) > ceiling then return true end
            local m = load_candidate(id)
            if m then consider(grants, id, m, lease_ms) else forget_waiting(id, lane, gate) end
            moves = moves + 1
        end
        return false
    end
end
