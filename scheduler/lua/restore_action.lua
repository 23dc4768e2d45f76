-- restore_action: raise the lifetime counters of an action to those of the ledger, which Redis has lost in part or whole.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: action, enqueued, completed
-- Returns: 1 if a counter was lower, else 0
-- Uses: call, keys, transitions
transition('restore_action', function(action, enqueued, completed)
    local has_changed = 0
    for total, least in pairs({total_enqueued = enqueued, total_completed = completed}) do
        if tonumber(call('HGET', D.action_stats(action), total) or '0') < tonumber(least) then
            call('HSET', D.action_stats(action), total, least)
            has_changed = 1
        end
    end
    if has_changed == 1 then call('SADD', K.actions, action) end
    return has_changed
end)
