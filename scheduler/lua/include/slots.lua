-- The free slots of a lane under its own bound, if it has one, and of all lanes together, if their number is limited.
local slots_taken -- lane → how many, counted once a call and updated when a slot is taken or given back
local leases_held -- the same for all lanes together, counted by leases
at_begin_and_failure(function() slots_taken, leases_held = emptied(slots_taken), nil end)

local function room_over_all()
    if is_paused('*') then return 0 end
    local most = setting('max_concurrent')
    if not most then return math.huge end
    leases_held = leases_held or call('ZCARD', K.lease) + call('ZCARD', K.pod_lease)
    return most - leases_held
end

-- Returns the room under the lane's own bound, or under `max_active` in its place.
local function room_of(lane, max_active)
    local most = max_active or bound_of(lane, 'max_concurrent_executions')
    if not most then return math.huge end
    slots_taken[lane] = slots_taken[lane] or call('SCARD', D.active(lane))
    return most - slots_taken[lane]
end

local function free_slots(lane, max_active)
    return math.min(room_over_all(), room_of(lane, max_active))
end

local function take_slot(id, lane)
    local added = call('SADD', D.active(lane), id)
    note('moved:' .. lane)
    if slots_taken[lane] then slots_taken[lane] = slots_taken[lane] + added end
    if leases_held then leases_held = leases_held + 1 end
end

-- A lane that was full is marked as touched, since it may now have a candidate.
local function give_slot(id, lane)
    if room_of(lane) < 1 then changed.touched[lane] = true end
    local given = call('SREM', D.active(lane), id)
    note('moved:' .. lane)
    if slots_taken[lane] then slots_taken[lane] = slots_taken[lane] - given end
end
