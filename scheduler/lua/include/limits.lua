-- What operators set of gates: pauses and limits, read once a call. Neither changes within a call, but in that which
-- changes it.
local any_paused
local limits -- gate → its limit, false for none, once read

at_begin(function()
    any_paused = call('EXISTS', K.paused) == 1
    limits = {}
end)

local function is_paused(name)
    return any_paused and call('HEXISTS', K.paused, name) == 1
end

local function read_limits(gates)
    for _, gate in ipairs(gates) do
        if limits[gate] == nil then
            local read = call('HMGET', K.limits, unpack(gates))
            for i, each in ipairs(gates) do limits[each] = tonumber(read[i]) or false end
            return
        end
    end
end
