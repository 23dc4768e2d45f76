-- Whether an execution may be accepted: its id and its unique key are free, and its lane and its user have room for one
-- more, or for it in place of the one that it replaces.
local refusal, take_unique, count_queued
do
    local swept_in_vain
    local left_to_reindex, left_to_sweep -- in this call
    local queued -- lane → how many wait, where there is a bound
    at_begin(function() swept_in_vain, left_to_reindex, left_to_sweep, queued = false, 100, 100, emptied(queued) end)

    local function is_full(lane)
        local most = bound_of(lane, 'max_queue_size')
        if not most then return false end
        queued[lane] = queued[lane] or call('SCARD', D.members(lane)) - call('SCARD', D.active(lane))
        return queued[lane] >= most
    end

    -- Expires stale executions, up to a bound for the whole call; once a sweep found none, no further sweeps are made.
    local function make_room(lane)
        if left_to_reindex > 0 and overrides[deadline.reindexing_field(lane)] then
            left_to_reindex = deadline.reindex_lane(lane, left_to_reindex)
            swept_in_vain = false
        end
        if swept_in_vain then return end
        local expired = sweep_due(left_to_sweep)
        left_to_sweep = left_to_sweep - expired
        swept_in_vain, queued = expired == 0 or left_to_sweep < 1, {}
    end

    -- Returns why the execution is refused: a code and details; nil if it is not.
    function refusal(id, m, parent)
        local known = state_of(id, parent)
        if known then return 'DUPLICATE', known, known == '' and (m.lasting or '') or lasting_of(id) end
        local other = m.wanted and unique.holder(m.wanted.key)
        if other and not (m.wanted.replaces and other.waits) then return 'NOT_UNIQUE', other.id, other.state end
        if other then m.replaced = other.id end
        local has_its_place = other and other.lane == m.lane
        if not has_its_place and is_full(m.lane) then
            make_room(m.lane)
            if is_full(m.lane) then return 'QUEUE_FULL', bound_of(m.lane, 'max_queue_size') end
        end
        local allowed = m.user and bound_of(m.lane, 'max_executions_per_user')
        if has_its_place and other.user == m.user then return nil end
        if allowed and tonumber(call('HGET', D.users(m.lane), m.user) or '0') >= allowed then
            return 'USER_LIMIT', allowed
        end
    end

    -- Takes the unique key of an execution that is accepted. Returns as unique.take does.
    function take_unique(id, m)
        local other = m.replaced and load(m.replaced)
        if other and (other.state == 'SCHEDULED' or other.state == 'PENDING') then -- else it has expired meanwhile
            other.before, queued[other.lane] = other.state, nil
            leave_waiting(m.replaced, other)
            finish(m.replaced, other, 'cancel', 'CANCELLED', 'replaced', false, true)
        end
        return unique.take(id, m.wanted)
    end

    function count_queued(lane)
        if queued[lane] then queued[lane] = queued[lane] + 1 end
    end
end
