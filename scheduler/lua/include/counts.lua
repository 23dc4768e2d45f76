-- The lifetime counters of actions, written once at the end of a call. The first count adds the action to `actions`;
-- counters stay until an operator drops them.
local count_action, keep_counts
do
    local counted -- action → counter → its increase in this call
    at_begin(function() counted = emptied(counted) end)

    function count_action(action, total)
        local totals = counted[action] or {}
        counted[action] = totals
        totals[total] = (totals[total] or 0) + 1
    end

    function keep_counts()
        for action, totals in pairs(counted) do
            for total, count in pairs(totals) do
                if call('HINCRBY', D.action_stats(action), total, count) == count then call('SADD', K.actions, action) end
            end
        end
    end
end
