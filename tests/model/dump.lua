-- dump: every key of a test's queue with its type, TTL in ms (-1: none) and contents, in one moment. Tests only: it uses
-- KEYS, which no script of the engine may.
-- ARGV: prefix
-- Returns: {{key, type, ttl_ms, contents}, …}
local reads = {
    string = function(key) return {redis.call('GET', key)} end,
    hash = function(key) return redis.call('HGETALL', key) end,
    set = function(key) return redis.call('SMEMBERS', key) end,
    zset = function(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
    list = function(key) return redis.call('LRANGE', key, 0, -1) end,
    stream = function(key) return {tostring(redis.call('XLEN', key))} end,
}
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. ':*')) do
    local kind = redis.call('TYPE', key).ok
    found[#found + 1] = {key, kind, redis.call('PTTL', key), reads[kind](key)}
end
return found
