-- Refusals in the journal: up to ten a second and reason one by one; how many more there were is told once that second is
-- over. So a flood of them neither drives transitions out of the journal nor fills a ledger.
local tell_refusals, journal_refusal
do
    local ONE_BY_ONE = 10
    local SECOND = 'second' -- the field with the second that the others count in

    local function this_second()
        return math.floor(now / 1000)
    end

    -- Tells of a second that is over.
    function tell_refusals()
        local flat = call('HGETALL', K.refusals)
        local refused = {}
        for i = 1, #flat, 2 do refused[flat[i]] = tonumber(flat[i + 1]) end
        if #flat == 0 or refused[SECOND] == this_second() then return end
        for code, number in pairs(refused) do
            if code ~= SECOND and number > ONE_BY_ONE then
                append('verb', 'reject', 'id', '', 'at', now, 'reason', code, 'count', number - ONE_BY_ONE)
            end
        end
        call('DEL', K.refusals)
    end

    function journal_refusal(id, m, code)
        local second = this_second()
        if tonumber(call('HGET', K.refusals, SECOND) or '') ~= second then
            tell_refusals()
            call('HSET', K.refusals, SECOND, second)
        end
        if call('HINCRBY', K.refusals, code, 1) <= ONE_BY_ONE then journal('reject', id, m, 'reason', code) end
    end
end
