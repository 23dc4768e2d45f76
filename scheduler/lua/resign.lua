-- resign: give up the lead at once; only the leader itself can (D28).
-- Atomic; repeating it does no harm.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: leader_id, epoch
-- Returns: 1 if it was given up, else 0
-- Uses: call, keys, transitions
transition('resign', function(leader_id, epoch)
    if call('GET', K.leader) ~= epoch .. ' ' .. leader_id then return 0 end
    return call('DEL', K.leader)
end)
