-- The server's time in unix milliseconds when the call began: it gives all timestamps and is the base of other clocks.
local now

at_begin(function()
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end)
