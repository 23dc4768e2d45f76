-- declare: set the limits that the actors of some lanes declare, in place of all that these lanes declared before.
-- Atomic; repeating it does no harm, so it takes no request token. An operator's limits take precedence.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lanes, (lane, name, limit), …
--   lanes   separated by spaces
--   name    a gate key, or a kind such as `tenant:*`
--   limit   a whole number >= 0; of a gate also `auto(least,most)`, which begins at its least and adjusts itself
-- Returns: the number of the last declaration that changed something: whoever finds a lower one later knows that his is lost
-- Uses: call, keys, defaults, raised, transitions
local DECLARED_ARGUMENTS = 3

transition('declare', function(lanes, ...)
    local declared, wanted = {...}, {}
    local is_first = call('HEXISTS', K.rounds, 'declared') == 0
    for i = 1, #declared, DECLARED_ARGUMENTS do
        local lane, name, limit = unpack(declared, i, i + DECLARED_ARGUMENTS - 1)
        wanted[name .. '\n' .. lane] = limit
    end
    local has_changed = next(declare_anew(D.default_limits(), lanes, wanted)) ~= nil or is_first
    if has_changed then change_defaults() end
    return call('HINCRBY', K.rounds, 'declared', has_changed and 1 or 0)
end)
