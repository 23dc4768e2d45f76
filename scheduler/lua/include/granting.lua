-- The best eligible executions of one lane take a slot each, under every limit at once. Whatever is found stale, lost or
-- behind a closed gate is put where it belongs and the next is looked at, up to a bound of moves a call.
local function grant(id, m, gates, left, lease_ms)
    m.attempt = tonumber(m.attempt or 0) + 1
    local behind = leave_pending(id, m)
    count_user(m, -1)
    take_slot(id, m.lane)
    hold(id, gates, left, behind)
    local lease = lease_ms > 0 and lease_ms or lease_over_all(m)
    call('ZADD', K.lease, lease_now + lease, lease_of(id, m))
    call('HSET', D.meta(id), 'state', 'RUNNING', 'attempt', m.attempt, 'nonce', nonce, 'granted_at', now)
    journal('admit', id, m, 'state', 'RUNNING', 'waited_ms', now - tonumber(m.waiting_since))
    return {id, m.attempt, m.lane, lease}
end

-- Looks at one candidate. Returns its grant, or nil if it was moved out of the way.
local function consider(id, m, lease_ms)
    local why = staleness(m)
    if why then return expire(id, m, why) end
    if not has_payload(id) then
        leave_waiting(id, m)
        return finish(id, m, 'lose', 'FAILED', 'event_lost', false)
    end
    local gates = gates_of(m)
    local closed, left = closed_gate(gates)
    if closed then return move_behind(id, m, closed) end
    return grant(id, m, gates, left, lease_ms)
end

-- Adds to `grants`, until there are `count`, what this lane has of a score up to `ceiling`, if that is given.
local function admit_lane(grants, lane, count, lease_ms, max_active, ceiling)
    if is_paused('lane:' .. lane) then return end
    touched[lane] = true
    while #grants < count and free_slots(lane, max_active) > 0 and moves < MAX_MOVES do
        look_again(lane)
        if moves >= MAX_MOVES then break end
        local id, score, gate = best_candidate(lane, math.min(count - #grants, free_slots(lane, max_active)))
        if not id or (ceiling and tonumber(score) > ceiling) then break end
        local m = load_candidate(id)
        if m then grants[#grants + 1] = consider(id, m, lease_ms) else forget_waiting(id, lane, gate) end
        moves = moves + 1
    end
end
