-- set: change one runtime setting for every process at once (D14); lanes that gain room are woken.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: name, value, only_if_unset
--   value           a number, '' for the default
--   only_if_unset   1: a configured value seeds the hash, but an operator's later change survives restarts
-- Returns: {code, value}; code OK | UNKNOWN (no such setting); value is the one in force, as a string
transition('set', function(name, value, only_if_unset)
    if not DEFAULTS[name] then return {'UNKNOWN', ''} end
    if value == '' then
        call('HDEL', K.settings, name)
    elseif only_if_unset == '1' then
        call('HSETNX', K.settings, name, value)
    else
        call('HSET', K.settings, name, value)
    end
    for _, lane in ipairs(call('ZRANGE', K.lanes, 0, -1)) do touched[lane] = true end
    return {'OK', exact(setting(name))}
end)
