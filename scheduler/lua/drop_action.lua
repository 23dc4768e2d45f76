-- drop_action: forget the statistics of an unused action; its later executions are counted anew.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: action, by
--   by   the operator who asks
-- Returns: DROPPED | IN_USE (one of it waits, is scheduled or holds a slot: nothing was changed) | UNKNOWN (there are none)
-- Uses: call, keys, changes, transitions
local LOOKED_AT = 10000 -- of those that are scheduled, so that no call blocks the server for long

-- Scheduled executions are in no index of their action. If there are more than are looked at, and none of these is of
-- it, its counters say whether one lives.
local function is_scheduled(action, enqueued)
    local ids = call('ZRANGE', K.scheduled, 0, LOOKED_AT - 1)
    for _, id in ipairs(ids) do
        -- Not call: a damaged record, whose action nobody knows, would keep all actions from being dropped.
        if redis.pcall('HGET', D.meta(id), 'action') == action then return true end
    end
    return #ids == LOOKED_AT and tonumber(enqueued) > tonumber(call('HGET', D.action_stats(action), 'total_completed') or '0')
end

transition('drop_action', function(action, by)
    if call('ZCARD', D.action_pending(action)) + call('SCARD', D.held('action:' .. action)) > 0 then return 'IN_USE' end
    local enqueued = call('HGET', D.action_stats(action), 'total_enqueued') or '0'
    if is_scheduled(action, enqueued) then return 'IN_USE' end
    if call('SREM', K.actions, action) == 0 then return 'UNKNOWN' end
    call('DEL', D.action_stats(action))
    note_change('drop_action', 'action:' .. action, enqueued, '', by)
    return 'DROPPED'
end)
