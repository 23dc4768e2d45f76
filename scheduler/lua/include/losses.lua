-- An execution whose meta is gone: evicted, or deleted by hand. Everything still known is cleared: its payload, its
-- place in its lane, and the slot and gates that its lease names. It remains in its user's count, its action's queue
-- and, if it was scheduled, its lane's members.
local function forget(id, lane, action)
    delete_payload(id)
    call('SREM', D.members(lane), id)
    freed[lane] = true
    journal('forget', id, {lane = lane, band = '', action = action})
end

-- For an execution that waited, found at the front of a lane or behind one of its gates.
local function forget_waiting(id, lane, gate)
    call('ZREM', D.pending(lane), id)
    call('ZREM', K.deadlines, id)
    if gate then
        call('ZREM', D.waiting(gate, lane), id)
        reindex(gate)
    else
        remove_ready(lane, id)
    end
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
    unhold(id, given_back)
    if not m then return forget(id, lane, string.match(gates[1], '^action:(.*)$')) end
    if m.lane ~= lane then call('SREM', D.members(lane), id) end
    freed[lane] = true
    journal('forget', id, m)
end
