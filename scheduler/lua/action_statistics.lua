-- action_statistics: the figures of one action at one moment.
-- Read only.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: action
-- Returns: {queue_length, active_count, max_concurrent, oldest_enqueued_at, total_enqueued, total_completed}
--   max_concurrent '' for no limit; oldest_enqueued_at in unix milliseconds, '' for none
-- Uses: call, keys, limits, transitions
view('action_statistics', function(action)
    local oldest = call('ZRANGE', D.action_pending(action), 0, 0, 'WITHSCORES')
    local gate = 'action:' .. action
    read_limits({gate})
    local totals = call('HMGET', D.action_stats(action), 'total_enqueued', 'total_completed')
    return {call('ZCARD', D.action_pending(action)), call('SCARD', D.held(gate)),
        limits[gate] or '', oldest[2] or '', tonumber(totals[1] or '0'),
        tonumber(totals[2] or '0')}
end)
