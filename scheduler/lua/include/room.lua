-- Whether an execution may be accepted: its id is free, and its lane and its user have room for one more.
local refusal, count_queued
do
    local swept_in_vain
    local left_to_reindex -- in this call
    local queued -- lane → how many wait, where there is a bound
    at_begin(function() swept_in_vain, left_to_reindex, queued = false, 100, emptied(queued) end)

    local function is_full(lane)
        local most = bound_of(lane, 'max_queue_size')
        if not most then return false end
        queued[lane] = queued[lane] or call('SCARD', D.members(lane)) - call('SCARD', D.active(lane))
        return queued[lane] >= most
    end

    -- Expires stale executions; once a sweep in this call found none, no further sweeps are made.
    local function make_room(lane)
        if left_to_reindex > 0 and overrides[reindexing_field(lane)] then
            left_to_reindex = reindex_lane(lane, left_to_reindex)
            swept_in_vain = false
        end
        if swept_in_vain then return end
        local expired = sweep_due(100)
        swept_in_vain, queued = expired == 0, {}
    end

    -- Returns why the execution is refused: a code and details; nil if it is not.
    function refusal(id, m, parent)
        local known = state_of(id, parent)
        if known then return 'DUPLICATE', known, known == '' and (m.lasting or '') or lasting_of(id) end
        if is_full(m.lane) then
            make_room(m.lane)
            if is_full(m.lane) then return 'QUEUE_FULL', bound_of(m.lane, 'max_queue_size') end
        end
        local allowed = m.user and bound_of(m.lane, 'max_executions_per_user')
        if allowed and tonumber(call('HGET', D.users(m.lane), m.user) or '0') >= allowed then
            return 'USER_LIMIT', allowed
        end
    end

    function count_queued(lane)
        if queued[lane] then queued[lane] = queued[lane] + 1 end
    end
end
