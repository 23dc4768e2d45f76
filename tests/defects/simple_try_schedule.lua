-- The admission script of a simple queue, for comparison only: count, pop, add.
-- KEYS: active, pending
-- ARGV: max_active
-- Returns: the id, or nil for "full" and for "empty" alike
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[1]) then
    return nil
end
local popped = redis.call('ZPOPMIN', KEYS[2], 1)
if #popped == 0 then
    return nil
end
redis.call('SADD', KEYS[1], popped[1])
return popped[1]
