-- weigh: set the weight of one key of the fair lanes: of two keys with work, that of twice the weight starts twice as often.
-- Atomic; repeating it does no harm, so it takes no request token. It holds for what is accepted from now on.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: gate, weight, by
--   weight   1 to 1000, '' for 1
--   by       the operator who asks
-- Returns: the weight before
-- Uses: call, keys, settings, changes, transitions
transition('weigh', function(gate, weight, by)
    local from = call('HGET', K.weights, gate) or '1'
    note_change('set', 'weight:' .. gate, from, weight ~= '' and weight or '1', by)
    if weight == '' then call('HDEL', K.weights, gate) else call('HSET', K.weights, gate, weight) end
    keep_setting('weighted', call('EXISTS', K.weights) == 1 and 1 or nil)
    return tonumber(from)
end)
