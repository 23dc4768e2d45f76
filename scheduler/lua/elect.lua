-- elect: become or stay the leader. The epoch rises with each election and fences a leader that slept (D28).
-- Atomic; only the holder of the current epoch renews. A candidate that leads already (the reply of its election was
-- lost, or it was started again under its old id) gets a new epoch, so that its earlier calls are refused.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: leader_id, epoch, ttl_ms
--   epoch   the leader's own epoch, '' for a candidate
-- Returns: {1, epoch} for the leader, {0, epoch of the other}
-- Uses: call, keys, transitions
transition('elect', function(leader_id, epoch, ttl_ms)
    local current = call('GET', K.leader)
    local is_own = current and string.match(current, '^%d+ (.*)$') == leader_id
    if not current or (is_own and epoch == '') then
        epoch = tostring(call('INCR', K.epoch))
        call('SET', K.leader, epoch .. ' ' .. leader_id, 'PX', ttl_ms)
        return {1, epoch}
    end
    if epoch ~= '' and current == epoch .. ' ' .. leader_id then
        call('PEXPIRE', K.leader, ttl_ms)
        return {1, epoch}
    end
    return {0, string.match(current, '^%d+')}
end)
