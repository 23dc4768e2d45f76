-- A lease, a member of `lease` or `lease:pods`, names all that is held under it: execution, lane and gates. So what is held
-- can be given back when the execution's record is lost.
local function lease_of(id, m)
    return table.concat({id, m.lane, unpack(gates_of(m))}, '\n')
end

-- Returns its execution, its lane and its gates.
local function held_under(lease)
    local names = lines_of(lease)
    return table.remove(names, 1), table.remove(names, 1), names
end

-- The length of a lease that nobody renews: all that its execution may take. Until its program starts (an image is pulled),
-- while that runs, for its timeout counts from its start, and until it has ended.
local function lease_over_all(m)
    return setting('start_deadline_ms') + tonumber(m.timeout_ms) + setting('grace_ms')
end
