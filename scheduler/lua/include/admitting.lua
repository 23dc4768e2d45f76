-- Admission: the best eligible execution of a lane takes a slot, under every limit at once. Whatever is found stale,
-- lost or behind a closed gate is put where it belongs and the next is looked at, up to a bound of moves a call.
local MAX_MOVES = 100
local FRESH_MS_A_SECOND = 100 -- what began to wait within the last tenth of its TTL needs no new one

local function grant(id, m, gates, left, lease_ms)
    m.attempt = tonumber(m.attempt or 0) + 1
    local behind = leave_pending(id, m)
    count_user(m, -1)
    slots_taken = slots_taken + call('SADD', K.active, id)
    hold(id, gates, left, behind)
    local lease = lease_ms > 0 and lease_ms or tonumber(m.timeout_ms) + setting('grace_ms')
    call('ZADD', K.lease, now + lease, id)
    call('HSET', D.meta(id), 'state', 'RUNNING', 'attempt', m.attempt, 'granted_at', now)
    local waited_ms = now - tonumber(m.waiting_since)
    if waited_ms > setting('event_ttl_seconds') * FRESH_MS_A_SECOND then refresh_payload(id) end
    journal('admit', id, m, 'state', 'RUNNING', 'waited_ms', waited_ms)
    return {id, m.attempt, lease}
end

-- Looks at one candidate. Returns its grant, or nil if it was moved out of the way.
local function consider(id, m, lease_ms)
    if is_stale(m) then return expire(id, m) end
    if not has_payload(id) then
        leave_waiting(id, m)
        return finish(id, m, 'lose', 'FAILED', 'event_lost', false)
    end
    local gates = gates_of(m)
    local closed, left = closed_gate(gates)
    if closed then return move_behind(id, m, closed) end
    return grant(id, m, gates, left, lease_ms)
end

-- Its meta was deleted by hand: it must not be a candidate for ever.
local function forget(id, lane, gate)
    call('ZREM', K.pending, id)
    call('SREM', D.members(lane), id)
    if gate then
        call('ZREM', D.waiting(gate, lane), id)
        reindex(gate)
    else
        remove_ready(lane, id)
    end
end

-- Up to `count` grants of this lane, none of a score beyond `ceiling` if that is given. Second result: 1 if the bound
-- of moves was reached and more may be eligible.
local function admit(lane, count, lease_ms, max_active, ceiling)
    local grants, moves = {}, 0
    local slots = is_paused('lane:' .. lane) and 0 or free_slots(max_active)
    touched[lane] = true
    while #grants < count and #grants < slots and moves < MAX_MOVES do
        local id, score, gate = best_candidate(lane, math.min(count, slots))
        if not id or (ceiling and tonumber(score) > ceiling) then break end
        local m = load_candidate(id)
        if m then grants[#grants + 1] = consider(id, m, lease_ms) else forget(id, lane, gate) end
        moves = moves + 1
    end
    return grants, (moves >= MAX_MOVES and #grants < count and #grants < slots) and 1 or 0
end

-- After a release: into the caller's own process only while its lane has the best candidate of the live lanes; else
-- the lane that has it is woken, also when the caller admits nothing. Tokens for touched lanes are pushed only when all
-- is settled, so that nobody is woken for a slot that is taken here.
local function admit_next(lane, count, lease_ms)
    if free_slots() < 1 then return {} end
    for name in pairs(touched) do
        if name ~= lane then index_lane(name) end
    end
    local other, score = best_live_lane_but(lane)
    local grants = (lane ~= '' and count > 0) and admit(lane, count, lease_ms, nil, score) or {}
    if other and #grants < math.max(count, 1) and not touched[other] and not freed[other] then wake(other) end
    return grants
end
