-- Gates: which an execution passes, whether one has room, and the index `open:{lane}` of gates that have room and
-- someone of the lane waiting, by their best waiter's score. Whatever changes a gate or its best waiter re-indexes it.
local touched -- lanes whose best candidate may have changed; include/lanes.lua settles them
local offered -- lane → the best score among those that entered it here
local freed -- lanes of which an execution gave its slot back
local due_soon -- lanes of which something is due sooner than an idle consumer asks again
local open_heads -- lane → its best open gate and that one's score, once read

at_begin(function()
    touched, offered, freed = emptied(touched), emptied(offered), emptied(freed)
    due_soon = emptied(due_soon)
end)
at_begin_and_failure(function() open_heads = emptied(open_heads) end)

-- None of them changes while an execution lives.
local function gates_of(m)
    if m.all_gates then return m.all_gates end
    local gates = {'action:' .. m.action}
    m.all_gates = gates
    if m.user then gates[2] = 'user:' .. m.user end
    if m.gates then
        for gate in string.gmatch(m.gates, '[^\n]+') do gates[#gates + 1] = gate end
    end
    return gates
end

local function has_room(gate)
    read_limits({gate})
    if is_paused(gate) then return false end
    return not limits[gate] or call('SCARD', D.held(gate)) < limits[gate]
end

-- The first of these gates that has no room; or nil, and how many more each gate with a limit lets through.
local function closed_gate(gates)
    local left = {}
    read_limits(gates)
    for _, gate in ipairs(gates) do
        if is_paused(gate) then return gate end
        if limits[gate] then
            left[gate] = limits[gate] - call('SCARD', D.held(gate))
            if left[gate] < 1 then return gate end
        end
    end
    return nil, left
end

-- `room` is whether the gate has some, where the caller knows.
local function reindex(gate, room)
    local lanes = call('SMEMBERS', D.gate_lanes(gate))
    if #lanes == 0 then return end
    if room == nil then room = has_room(gate) end
    for _, lane in ipairs(lanes) do
        local best = call('ZRANGE', D.waiting(gate, lane), 0, 0, 'WITHSCORES')
        if #best == 0 then call('SREM', D.gate_lanes(gate), lane) end
        if room and best[1] then
            call('ZADD', D.open(lane), best[2], gate)
        else
            call('ZREM', D.open(lane), gate)
        end
        index_closed(gate, lane, not room and best[2] or nil)
        touched[lane], open_heads[lane] = true, nil
    end
end

local function hold(id, gates)
    for _, gate in ipairs(gates) do call('SADD', D.held(gate), id) end
end

-- `left` is what closed_gate found; `behind` the gate behind which the one that holds them was the best waiter, if it was.
-- Only what closes a gate or takes its best waiter changes the index.
local function index_held(gates, left, behind)
    for _, gate in ipairs(gates) do
        local room = not left[gate] or left[gate] > 1
        if not room or gate == behind then reindex(gate, room) end
    end
end

-- Only the holder that leaves a full gate opens it. Of one limited by its kind, any that leaves it with room: that limit
-- may have risen.
local function unhold(id, gates)
    read_limits(gates)
    for _, gate in ipairs(gates) do
        if call('SREM', D.held(gate), id) == 1 and limits[gate] then
            local room = limits[gate] - call('SCARD', D.held(gate))
            if room == 1 or (room > 1 and by_kind[gate]) then reindex(gate) end
        end
    end
end
