-- An execution whose meta is gone: evicted, or deleted by hand. What it is, nobody knows any more; given back is what can be
-- known: its payload, its place in its lane, and the slot and the gates that its lease names. Its user's count, its
-- action's queue and, if it was scheduled, its lane's members keep it.
local function forget(id, lane, action)
    delete_payload(id)
    call('SREM', D.members(lane), id)
    freed[lane] = true
    journal('forget', id, {lane = lane, band = '', action = action})
end

-- Of one that waited, and was found at the front of a lane or behind one of its gates.
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

-- Of one that holds a slot. `m` is another execution that was accepted under the same id since, if one was: what that
-- holds itself stays.
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
