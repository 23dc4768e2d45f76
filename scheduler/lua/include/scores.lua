-- The clock of scores. It rises strictly (D2): 1/1024 ms is added whenever the millisecond equals or lies behind the last one
-- given, so order is the order of acceptance even when a clock steps back; doubles of this size still resolve 1/1024.
local BAND_WIDTH_MS = 1000000000000

-- Whole numbers, as most are, are written and read in a fraction of the time.
local function exact(number)
    return string.format(number % 1 == 0 and '%d' or '%.17g', number)
end

local next_time, clock_is, clock_to_keep, keep_clock
do
    local last_given -- once it was read
    local is_kept
    at_begin(function() last_given, is_kept = nil, true end)

    -- Read by a caller that reads something else with it.
    function clock_is(text) last_given = tonumber(text or '0') end

    function next_time(at_least)
        if not last_given then clock_is(call('GET', K.clock)) end
        local given = math.floor(at_least)
        if given <= last_given then given = last_given + 1 / 1024 end
        last_given, is_kept = given, false
        return given
    end

    -- Its key and what it is to be, for a write that takes several keys; nothing if that was written already.
    function clock_to_keep()
        if is_kept then return end
        is_kept = true
        return K.clock, exact(last_given)
    end

    -- Once, at the end of a call.
    function keep_clock()
        if not is_kept then call('SET', clock_to_keep()) end
    end
end
