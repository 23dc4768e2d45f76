-- Slots that code takes (`with slot(…)`): executions of lanes `slot:NAME`. Who waits is a thread or a task of a process,
-- the owner, which the id names: `slot:OWNER:NUMBER`. An owner says again and again that it lives (`owners`), and its news
-- (grants, and ends that it did not ask for) are kept until it has them. Grants are made by the call that makes room,
-- whoever makes it: include/serving.lua.
local code_slots = {}
do
    local LANES = 'slot:'
    local NEWS_TTL_SECONDS = 60 -- an owner that lives asks every second

    code_slots.is_lane = function(lane)
        return string.sub(lane, 1, #LANES) == LANES
    end

    code_slots.owner_of = function(id)
        return string.match(id, '^slot:([^:]+):')
    end

    -- Tells the owner something about one of its executions, and wakes it.
    code_slots.tell = function(id, news)
        local owner = code_slots.owner_of(id)
        if not owner then return end
        local key, wake = D.slot_news(owner), D.wake('slots:' .. owner)
        call('HSET', key, id, news)
        call('EXPIRE', key, NEWS_TTL_SECONDS)
        if call('EXISTS', wake) == 0 then
            call('RPUSH', wake, '1')
            call('EXPIRE', wake, NEWS_TTL_SECONDS)
        end
    end

    -- To be called for every execution that is accepted or ends; those of other lanes are left alone.
    code_slots.enter = function(id, lane)
        local owner = code_slots.is_lane(lane) and code_slots.owner_of(id)
        if owner then call('SADD', D.slot_members(owner), id) end
    end

    code_slots.leave = function(id, lane, verb, state, reason)
        local owner = code_slots.is_lane(lane) and code_slots.owner_of(id)
        if not owner then return end
        call('SREM', D.slot_members(owner), id)
        if verb ~= 'release' then code_slots.tell(id, state .. ' ' .. reason) end
    end
end
