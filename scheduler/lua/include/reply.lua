-- Lost replies: a caller (a client thread has one) numbers its calls, rising. Its last answer is kept, so that the same
-- call made again gives the same answer and has no second effect; a call that was overtaken by a later one of its
-- caller (it lay in a dead socket) is refused.
local nonce -- of what this call grants

-- `needs_clock`: it will give times, and so reads the clock of scores in the same command.
local function said(caller, number, needs_clock)
    nonce = caller .. ':' .. number
    local last
    if needs_clock then
        local found = call('MGET', D.reply(caller), K.clock)
        last = found[1]
        clock_is(found[2])
    else
        last = call('GET', D.reply(caller))
    end
    if not last then return nil end
    -- Only the number, unless it is the same: the answer may be long.
    local offset, spoken = cmsgpack.unpack_one(last)
    if spoken == tonumber(number) then return select(2, cmsgpack.unpack_one(last, offset)) end
    return nil, spoken > tonumber(number)
end

local function answer(caller, number, reply)
    local kept = cmsgpack.pack(tonumber(number), reply)
    call('SET', D.reply(caller), kept, 'EX', setting('reply_ttl_seconds'))
    return reply
end
