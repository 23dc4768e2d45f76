-- declare: the limits that the actors of some lanes declare, in place of all that these lanes declared before.
-- Atomic; repeating it does no harm, so it takes no request token. What an operator set goes before.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lanes, (lane, name, limit), …
--   lanes   separated by spaces
--   name    a gate key, or a kind such as `tenant:*`
-- Returns: how many limits hold by default now
local DECLARED_ARGUMENTS = 3

transition('declare', function(lanes, ...)
    local own, declared = {}, {...}
    for lane in string.gmatch(lanes, '%S+') do own[lane] = true end
    for _, field in ipairs(call('HKEYS', D.default_limits())) do
        if own[string.match(field, '\n(.*)$')] then call('HDEL', D.default_limits(), field) end
    end
    for i = 1, #declared, DECLARED_ARGUMENTS do
        local lane, name, limit = unpack(declared, i, i + DECLARED_ARGUMENTS - 1)
        call('HSET', D.default_limits(), name .. '\n' .. lane, limit)
    end
    change_defaults()
    local count = 0
    for _ in pairs(defaults) do count = count + 1 end
    return count
end)
