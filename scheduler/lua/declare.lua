-- declare: set the limits that the actors of some lanes declare, in place of all that these lanes declared before.
-- Atomic; repeating it does no harm, so it takes no request token. An operator's limits take precedence.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lanes, (lane, name, limit), …
--   lanes   separated by spaces
--   name    a gate key, or a kind such as `tenant:*`
-- Returns: the number of the last declaration that changed something: whoever finds a lower one later knows that his is lost
-- Uses: call, keys, raised, transitions
local DECLARED_ARGUMENTS = 3

transition('declare', function(lanes, ...)
    local own, declared = {}, {...}
    for lane in string.gmatch(lanes, '%S+') do own[lane] = true end
    local wanted, has_changed = {}, call('HEXISTS', K.rounds, 'declared') == 0
    for i = 1, #declared, DECLARED_ARGUMENTS do
        local lane, name, limit = unpack(declared, i, i + DECLARED_ARGUMENTS - 1)
        wanted[name .. '\n' .. lane] = limit
    end
    local known = call('HGETALL', D.default_limits())
    for i = 1, #known, 2 do
        local field, limit = known[i], known[i + 1]
        if wanted[field] == limit then
            wanted[field] = nil
        elseif own[string.match(field, '\n(.*)$')] and not wanted[field] then
            call('HDEL', D.default_limits(), field)
            has_changed = true
        end
    end
    for field, limit in pairs(wanted) do
        call('HSET', D.default_limits(), field, limit)
        has_changed = true
    end
    if has_changed then change_defaults() end
    return call('HINCRBY', K.rounds, 'declared', has_changed and 1 or 0)
end)
