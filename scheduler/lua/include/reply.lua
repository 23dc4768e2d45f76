-- Lost replies: a caller (a name that one call at a time uses) numbers its calls, rising. Its last answer is kept, so
-- that a repeated call gets the same answer and has no second effect. A call that arrives after a later one of its
-- caller (as from a dead socket) is refused.
local nonce -- of the grants of this call

-- `needs_clock`: the call will give scores, so the clock of scores is read in the same command.
local function said(caller, number, needs_clock)
    nonce = caller .. ':' .. number
    local last
    if needs_clock then
        local found = call('MGET', D.reply(caller), K.clock)
        last = found[1]
        clock.is(found[2])
    else
        last = call('GET', D.reply(caller))
    end
    if not last then return nil end
    -- The answer, which may be long, is unpacked only if the number is the same.
    local offset, spoken = cmsgpack.unpack_one(last)
    if spoken == tonumber(number) then return select(2, cmsgpack.unpack_one(last, offset)) end
    return nil, spoken > tonumber(number)
end

local function answer(caller, number, reply)
    local kept = cmsgpack.pack(tonumber(number), reply)
    call('SET', D.reply(caller), kept, 'EX', setting('reply_ttl_seconds'))
    return reply
end
