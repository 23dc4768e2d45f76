-- Server time in milliseconds, and the strictly rising clock that scores are made of (D2): 1/1024 ms is added
-- whenever the millisecond equals or lies behind the last one given, so order is the order of acceptance even
-- when a clock steps back. Doubles of this size still resolve 1/1024.
local BAND_WIDTH_MS = 1000000000000
local now
local last_given

at_begin(function()
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    last_given = nil
end)

-- Whole numbers, as most are, are written and read in a fraction of the time.
local function exact(number)
    return string.format(number % 1 == 0 and '%d' or '%.17g', number)
end

local function next_time(at_least)
    last_given = last_given or tonumber(call('GET', K.clock) or '0')
    local given = math.floor(at_least)
    if given <= last_given then given = last_given + 1 / 1024 end
    last_given = given
    return given
end

-- Once, at the end of a call.
local function keep_clock()
    if last_given then call('SET', K.clock, exact(last_given)) end
end
