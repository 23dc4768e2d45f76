-- Lost replies: ARGV[1] names the caller (one a client thread), ARGV[2] is its rising call number. The last answer
-- is kept, so that the same call made again gives the same answer and has no second effect; a call that was
-- overtaken by a later one of its caller (it lay in a dead socket) is refused.
local reply_key, call_number = D.reply(ARGV[1]), tonumber(ARGV[2])

local function said()
    local last = redis.call('GET', reply_key)
    if not last then return nil end
    local spoken = cmsgpack.unpack(last)
    if spoken[1] == call_number then return spoken[2] end
    if spoken[1] > call_number then return {'STALE_CALL'} end
end

local function answer(reply)
    redis.call('SET', reply_key, cmsgpack.pack({call_number, reply}), 'EX', setting('reply_ttl_seconds'))
    return reply
end
