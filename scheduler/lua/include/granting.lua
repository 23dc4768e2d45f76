-- The best eligible executions of one lane take a slot each, under every limit at once. An execution found stale, lost
-- or behind a closed gate is moved where it belongs, and the next one is looked at, up to a bound of moves a call.
local admit_lane
do
    local function grant(grants, id, m, left, lease_ms)
        m.attempt = tonumber(m.attempt or 0) + 1
        take_slot(id, m.lane) -- first: if the data of slots or a gate is damaged, it goes on waiting
        hold(id, gates_of(m))
        rates.spend(gates_of(m))
        local behind = leave_pending(id, m, true)
        count_user(m, -1)
        reopening.index_held(m.lane, gates_of(m), left, behind)
        local lease = lease_ms > 0 and lease_ms or lease_over_all(m)
        call('ZADD', K.lease, lease_now + lease, lease_of(id, m))
        call('HSET', D.meta(id), 'state', 'RUNNING', 'attempt', m.attempt, 'nonce', nonce, 'granted_at', now)
        journal('admit', id, m, 'state', 'RUNNING', 'waited_ms', now - tonumber(m.waiting_since))
        local n = #grants
        grants[n + 1], grants[n + 2], grants[n + 3], grants[n + 4] = id, m.attempt, m.lane, lease
    end

    -- Grants one candidate, or moves it out of the way.
    local function consider(grants, id, m, left, lease_ms)
        local why = deadline.why_stale(m)
        if why then return expire(id, m, why) end
        if not payload.is_there(id) then
            leave_waiting(id, m)
            return finish(id, m, 'lose', 'FAILED', 'event_lost', false)
        end
        if grants[1] and payload.is_too_much() then return end -- the next call will grant it first
        return grant(grants, id, m, left, lease_ms)
    end

    -- Its executions were deleted by hand.
    local function drop_empty(lane, flow)
        local gate = leave_flow('', lane, flow)
        if gate then index_in(lane, gate) end
    end

    -- Looks at the lane's best flow. While one of its gates is closed, none of its executions has to be read.
    local function look_at(grants, lane, flow, score, wanted, lease_ms)
        local gates = lines_of(flow)
        local closed, left = closed_gate(gates)
        if closed then return move_behind(lane, flow, score, closed) end
        local id = first_of(lane, flow, wanted)
        if not id then return drop_empty(lane, flow) end
        local m = load_candidate(id)
        if not m then return forget_waiting(id, lane, flow) end
        m.flow, m.all_gates = flow, gates
        consider(grants, id, m, left, lease_ms)
    end

    -- Adds up to `count` grants of this lane to `grants`, only of scores up to `ceiling` if given. Returns whether
    -- there may be more for another call: this one is spent, or the next candidate's score is above the ceiling.
    function admit_lane(lane, grants, count, lease_ms, max_active, ceiling)
        if is_paused('lane:' .. lane) then return false end
        changed.touched[lane] = true
        while #grants < count * GRANT_FIELDS and free_slots(lane, max_active) > 0 do
            look_again(lane)
            local wanted = math.min(count - #grants / GRANT_FIELDS, free_slots(lane, max_active))
            local flow, score = best_candidate(lane, wanted)
            if is_spent() then return true end -- perhaps it is not the best one, then
            if not flow then return false end
            if ceiling and tonumber(fair.claim(lane, score)) > ceiling then return true end
            look_at(grants, lane, flow, score, wanted, lease_ms)
            moves = moves + 1
        end
        return false
    end
end
