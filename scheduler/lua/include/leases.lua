-- A lease, a member of `lease` or `lease:pods`, names its execution, lane and gates. So slot and gates can be given
-- back even when the execution's record is lost.
local function lease_of(id, m)
    return table.concat({id, m.lane, unpack(gates_of(m))}, '\n')
end

-- Returns the lease's execution, its lane and its gates.
local function held_under(lease)
    local names = lines_of(lease)
    return table.remove(names, 1), table.remove(names, 1), names
end

-- The length of a lease that nobody renews: as long as its execution may take until its program starts (an image is
-- pulled), while it runs (its timeout counts from its start), and until it has ended.
local function lease_over_all(m)
    return setting('start_deadline_ms') + tonumber(m.timeout_ms or 0) + setting('grace_ms')
end
