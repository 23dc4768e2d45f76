-- An execution whose meta is gone: evicted, or deleted by hand. Everything still known is cleared: its payload, its
-- place in its lane, and the slot and gates that its lease names. It remains in its user's count, its action's queue
-- and, if it was scheduled, its lane's members.
local function forget(id, lane, action)
    delete_payload(id)
    call('SREM', D.members(lane), id)
    changed.freed[lane] = true
    journal('forget', id, {lane = lane, band = '', action = action})
end

-- For an execution that waited, found at the front of a flow.
local function forget_waiting(id, lane, flow)
    local score = fair.kind(lane) and call('ZSCORE', D.pending(lane), id)
    if score then
        call('ZREM', D.times(lane), id)
        fair.leave({lane = lane, band = math.floor((score - now) / BAND_WIDTH_MS + 0.5), score = score, all_gates = lines_of(flow)})
    end
    call('ZREM', D.pending(lane), id)
    call('ZREM', K.deadlines, id)
    ageing.leave(id, lane)
    local behind = leave_flow(id, lane, flow)
    if behind then index_in(lane, behind) end
    forget(id, lane, '')
end

-- For an execution that holds a slot. `m`: a later execution accepted under the same id, if there is one; it keeps the
-- slot and gates that it holds itself.
local function forget_holding(lease, m)
    local id, lane, gates = held_under(lease)
    call('ZREM', K.lease, lease)
    call('ZREM', K.pod_lease, lease)
    leases_held = nil
    local kept, given_back = {}, {}
    local holds = m and (m.state == 'RUNNING' or m.state == 'POD' or m.state == 'CANCELLING')
    if holds then
        for _, gate in ipairs(gates_of(m)) do kept[gate] = true end
    end
    if not holds or m.lane ~= lane then give_slot(id, lane) end
    for _, gate in ipairs(gates) do
        if not kept[gate] then given_back[#given_back + 1] = gate end
    end
    reopening.unhold(id, given_back)
    if not m then return forget(id, lane, string.match(gates[1], '^action:(.*)$')) end
    if m.lane ~= lane then call('SREM', D.members(lane), id) end
    changed.freed[lane] = true
    journal('forget', id, m)
end

do
    local OWNERS_A_CALL = 5
    local ENDED_A_CALL = 50 -- of each

    local function end_waiting(owner)
        for _, id in ipairs(call('SRANDMEMBER', D.slot_members(owner), ENDED_A_CALL)) do
            local m = load(id)
            if not m or m.ended_at then call('SREM', D.slot_members(owner), id) end
            if m and m.state == 'PENDING' then expire(id, m, 'waiter_lost') end
        end
        if call('EXISTS', D.slot_members(owner)) == 0 then call('ZREM', K.owners, owner) end
        return true
    end

    -- Ends what owners wait for that live no more, some a call. What they hold is taken back when its lease runs out.
    code_slots.end_lost = function()
        for _, owner in ipairs(call('ZRANGEBYSCORE', K.owners, '-inf', lease_now, 'LIMIT', 0, OWNERS_A_CALL)) do
            apart(end_waiting, owner)
        end
    end
end
