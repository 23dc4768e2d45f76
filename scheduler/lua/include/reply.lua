-- Lost replies: a caller (a client thread has one) numbers its calls, rising. Its last answer is kept, so that the same
-- call made again gives the same answer and has no second effect; a call that was overtaken by a later one of its
-- caller (it lay in a dead socket) is refused.
local function said(caller, number)
    local last = call('GET', D.reply(caller))
    if not last then return nil end
    local spoken = cmsgpack.unpack(last)
    if spoken[1] == tonumber(number) then return spoken[2] end
    return nil, spoken[1] > tonumber(number)
end

local function answer(caller, number, reply)
    local kept = cmsgpack.pack({tonumber(number), reply})
    call('SET', D.reply(caller), kept, 'EX', setting('reply_ttl_seconds'))
    return reply
end
