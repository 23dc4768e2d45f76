-- drop_action: forget the statistics of an unused action; its later executions are counted anew.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: action, by
--   by   the operator who asks
-- Returns: DROPPED | IN_USE (one of it waits or holds a slot: nothing was changed) | UNKNOWN (there are none)
-- Uses: call, keys, changes, transitions
transition('drop_action', function(action, by)
    if call('ZCARD', D.action_pending(action)) + call('SCARD', D.held('action:' .. action)) > 0 then return 'IN_USE' end
    if call('SREM', K.actions, action) == 0 then return 'UNKNOWN' end
    local enqueued = call('HGET', D.action_stats(action), 'total_enqueued') or '0'
    call('DEL', D.action_stats(action))
    note_change('drop_action', 'action:' .. action, enqueued, '', by)
    return 'DROPPED'
end)
