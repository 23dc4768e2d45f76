-- drop: forget a dead letter. Only the usual record of an ended execution is kept. An end that is not reported yet is
-- still reported.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: id, by
--   by   the operator who asks, '' for none
-- Returns: 1 if it was a dead letter, else 0, as for what lives under the id of one whose time is over
-- Uses: call, keys, changes, letters, transitions
transition('drop', function(id, by)
    asked_by = by
    local dead_at = call('ZSCORE', K.dead, id)
    if not dead_at then return 0 end
    call('ZREM', K.dead, id)
    return drop_letter(id, dead_at, asked()) and 1 or 0
end)
