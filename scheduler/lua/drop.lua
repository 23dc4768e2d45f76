-- drop: forget a dead letter. Only the usual record of an ended execution is kept. An end that is not reported yet is
-- still reported.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: id, by
--   by   the operator who asks, '' for none
-- Returns: 1 if it was a dead letter, else 0, as for what lives under the id of one whose time is over
-- Uses: call, keys, journal, changes, keeping, transitions
transition('drop', function(id, by)
    asked_by = by
    if call('ZREM', K.dead, id) == 0 then return 0 end
    local m = load_end(id)
    if not m then return call('EXISTS', D.meta(id)) == 0 and 1 or 0 end
    if not is_kept(id, m.lane) then leave_record(id, m, m.state) end
    journal('drop', id, m, 'state', m.state, asked())
    return 1
end)
