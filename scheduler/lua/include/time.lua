-- Server time in milliseconds, and the strictly rising clock that scores are made of (D2): 1/1024 ms is added
-- whenever the millisecond equals or lies behind the last one given, so order is the order of acceptance even
-- when a clock steps back. Doubles of this size still resolve 1/1024.
local BAND_WIDTH_MS = 1000000000000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function exact(number)
    return string.format('%.17g', number)
end

local function next_time(at_least)
    local last = tonumber(redis.call('GET', K.clock) or '0')
    local given = math.floor(at_least)
    if given <= last then given = last + 1 / 1024 end
    redis.call('SET', K.clock, exact(given))
    return given
end
