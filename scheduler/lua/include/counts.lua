-- The lifetime counters of actions. Which actions have some is noted at the first count: they stay until they are dropped.
local function count_action(action, total, count)
    if call('HINCRBY', D.action_stats(action), total, count) == count then call('SADD', K.actions, action) end
end
