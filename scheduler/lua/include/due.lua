-- Scores in the set `scheduled`: ordered by due time, and within one millisecond by arrival.
local place_after
do
    -- Returns the last score that is taken in a millisecond, if one is, and whether the millisecond is full.
    local function last_place(ms)
        local last = call('ZREVRANGEBYSCORE', K.scheduled, '(' .. exact(ms + 1), exact(ms), 'WITHSCORES', 'LIMIT', 0, 1)[2]
        return tonumber(last), last and tonumber(last) >= ms + 1023 / 1024
    end

    -- Returns the score behind those that are due in this millisecond, which has 1024. If it is full, the next one that is
    -- not full is taken; it is found by steps that first double and then halve.
    function place_after(due)
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
end
