-- Places in the set of what is scheduled: what is due earlier comes first, and of one millisecond what came first.

-- The last place of a millisecond that is taken, if one is; and whether that is the last it has.
local function last_place(ms)
    local last = call('ZREVRANGEBYSCORE', K.scheduled, '(' .. exact(ms + 1), exact(ms), 'WITHSCORES', 'LIMIT', 0, 1)[2]
    return tonumber(last), last and tonumber(last) >= ms + 1023 / 1024
end

-- The place behind those that are due in this millisecond. It has 1024: what goes beyond takes those of the next that is
-- not full, which is found in steps that double, and then halve.
local function place_after(due)
    local last, is_full = last_place(due)
    if not is_full then return last and last + 1 / 1024 or due end
    local full, free = due, due + 1
    while select(2, last_place(free)) do full, free = free, free + 2 * (free - due) end
    while free - full > 1 do
        local middle = math.floor((full + free) / 2)
        if select(2, last_place(middle)) then full = middle else free = middle end
    end
    return (last_place(free) or free - 1 / 1024) + 1 / 1024
end
