-- The server's time, in unix milliseconds, as it stood when the call began: it stamps and dates, and all other clocks go by it.
local now

at_begin(function()
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end)
