-- The clock of scores. It rises strictly (D2): 1/1024 ms is added whenever the millisecond equals or lies behind the last one
-- given, so order is the order of acceptance even when a clock steps back; doubles of this size still resolve 1/1024.
local BAND_WIDTH_MS = 1000000000000

-- Most numbers are whole; without decimals they are written and read in a fraction of the time.
local function exact(number)
    return string.format(number % 1 == 0 and '%d' or '%.17g', number)
end

local next_time
local clock = {}
do
    local last_given -- once it was read
    local is_kept
    at_begin(function() last_given, is_kept = nil, true end)

    -- Sets the clock to a value that the caller has read together with other data.
    function clock.is(text) last_given = tonumber(text or '0') end

    function next_time(at_least)
        if not last_given then clock.is(call('GET', K.clock)) end
        local given = math.floor(at_least)
        if given <= last_given then given = last_given + 1 / 1024 end
        last_given, is_kept = given, false
        return given
    end

    -- Returns the clock's key and new value, for a write of several keys; nothing if it was written already.
    function clock.to_keep()
        if is_kept then return end
        is_kept = true
        return K.clock, exact(last_given)
    end

    -- Writes the clock at the end of a call, if it is not written yet.
    function clock.keep()
        if not is_kept then call('SET', clock.to_keep()) end
    end
end
