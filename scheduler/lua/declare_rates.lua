-- declare_rates: set the rates that the actors of some lanes declare, in place of all that these lanes declared before.
-- Atomic; repeating it does no harm, so it takes no request token. An operator's rates take precedence; of several lanes'
-- declarations the slowest holds.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lanes, (lane, name, rate), …
--   lanes   separated by spaces
--   name    a gate key, or a kind such as `tenant:*`
--   rate    as in rate.lua
-- Returns: how many gates and kinds have another declared rate now
-- Uses: call, keys, defaults, raised, transitions
local RATE_ARGUMENTS = 3

-- Returns the slowest declared rate by name.
local function slowest()
    local found, known = {}, call('HGETALL', K.rates)
    for i = 1, #known, 2 do
        local name = string.match(known[i], '^([^\n]+)\n.+$')
        local interval_ms = tonumber(string.match(known[i + 1], '^%S+'))
        if name and interval_ms > (found[name] and found[name][1] or 0) then found[name] = {interval_ms, known[i + 1]} end
    end
    return found
end

transition('declare_rates', function(lanes, ...)
    local declared, wanted, count = {...}, {}, 0
    for i = 1, #declared, RATE_ARGUMENTS do
        local lane, name, rate = unpack(declared, i, i + RATE_ARGUMENTS - 1)
        wanted[name .. '\n' .. lane] = rate
    end
    local names = declare_anew(K.rates, lanes, wanted)
    local found = next(names) and slowest()
    for name in pairs(names) do
        count = count + 1
        if found[name] then call('HSET', K.rates, name .. '\n', found[name][2]) else call('HDEL', K.rates, name .. '\n') end
    end
    if count > 0 then change_rates(names) end
    return count
end)
