-- Gates: those of an execution, who holds them, and whether one has room.
-- An execution's gates never change while it lives.
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

local has_room, closed_gate, hold, let_go
do
    local counts -- gate → how many hold it, counted once a call and followed from then on
    at_begin_and_failure(function() counts = emptied(counts) end)

    -- Returns how many more its limit lets through.
    local function below_limit(gate)
        if not limits[gate] then return math.huge end
        counts[gate] = counts[gate] or call('SCARD', D.held(gate))
        return limits[gate] - counts[gate]
    end

    local function follow(gate, change)
        if counts[gate] then counts[gate] = counts[gate] + change end
    end

    function has_room(gate)
        read_limits({gate})
        return not is_paused(gate) and below_limit(gate) > 0 and rates.left(gate) > 0
    end

    -- Returns the first of these gates that has no room; else nil, and how many more each gate lets through.
    function closed_gate(gates)
        local left = {}
        read_limits(gates)
        rates.read(gates)
        for _, gate in ipairs(gates) do
            if is_paused(gate) then return gate end
            left[gate] = math.min(below_limit(gate), rates.left(gate))
            if left[gate] < 1 then return gate end
        end
        return nil, left
    end

    function hold(id, gates)
        for _, gate in ipairs(gates) do follow(gate, call('SADD', D.held(gate), id)) end
    end

    -- Returns how many the gate's limit lets through from now on: nil if it has none, or was not held.
    function let_go(id, gate)
        local is_held = call('SREM', D.held(gate), id)
        follow(gate, -is_held)
        return is_held == 1 and limits[gate] and below_limit(gate) or nil
    end
end
