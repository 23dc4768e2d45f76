-- The shares of a fair lane's keys. The hash `tags` of a lane and band has, of each key with waiters, its last tag, its last
-- admitted tag and how many wait; under '' the tag at which a new key begins (the highest admitted one, or behind the
-- last that began there) and the one from which on they are counted. The set `tags:idle` has the last admitted tags of keys
-- without waiters. Both go with the last waiter; but where many have waited, tags run ahead of the clock, and later ones
-- must not begin before them: what was granted may come back to its place. So the highest one stays alone until the clock
-- has passed it, and for a day more, if the clock goes back. Tags are about unix milliseconds, so that bands stay apart.
local shares = {UNIT = 1 / 1024} -- between two scores
do
    local DAY_MS = 24 * 3600 * 1000

    -- Returns the key's share; without `at`, if nothing of its lane and band is counted now.
    function shares.read(m, key)
        local share = {key = key, tags = D.tags(m.lane, m.band), idle = D.idle_tags(m.lane, m.band)}
        local v = call('HMGET', share.tags, '', key)
        if not v[1] then return share end
        local at, base = string.match(v[1], '^(%S+) (%S+)$')
        share.passed = not at and tonumber(v[1]) or nil
        if not at then return share end
        local last, admitted, count = string.match(v[2] or '', '^(%S+) (%S+) (%S+)$')
        if not last then last = call('ZSCORE', share.idle, key) or 0 end
        share.at, share.base, share.last = tonumber(at), tonumber(base), tonumber(last)
        share.admitted, share.count = tonumber(admitted or last), tonumber(count or 0)
        return share
    end

    local function head_of(share)
        return exact(share.at) .. ' ' .. exact(share.base)
    end

    function shares.keep(share)
        call('HSET', share.tags, '', head_of(share),
            share.key, exact(share.last) .. ' ' .. exact(share.admitted) .. ' ' .. share.count)
    end

    -- Nothing is counted yet: tags begin now, behind all that waits in the band, and all that were granted there.
    function shares.begin(share, m)
        local middle = m.band * BAND_WIDTH_MS + now
        local last = call('ZREVRANGEBYSCORE', D.pending(m.lane), exact(middle + BAND_WIDTH_MS / 2),
            exact(middle - BAND_WIDTH_MS / 2), 'WITHSCORES', 'LIMIT', 0, 1)[2]
        share.at = math.max(now, (tonumber(last) or 0) - m.band * BAND_WIDTH_MS, share.passed or 0) + shares.UNIT
        if share.passed then call('PERSIST', share.tags) end
        share.base, share.last, share.admitted, share.count = share.at, 0, 0, 0
    end

    -- The key has no waiter any more. Its tag is of use until the highest admitted one has passed it; of such old ones a few
    -- are dropped, more than can become idle meanwhile.
    function shares.rest(share, step)
        if call('HLEN', share.tags) == 2 then
            call('DEL', share.tags, share.idle)
            if share.at <= now then return end
            call('HSET', share.tags, '', exact(share.at))
            return call('PEXPIRE', share.tags, math.ceil(share.at - now) + DAY_MS)
        end
        call('HDEL', share.tags, share.key)
        call('HSET', share.tags, '', head_of(share))
        if share.admitted > 0 then call('ZADD', share.idle, exact(share.admitted), share.key) end
        local passed = call('ZRANGE', share.idle, '-inf', exact(share.at - step), 'BYSCORE', 'LIMIT', 0, 10)
        if passed[1] then call('ZREM', share.idle, unpack(passed)) end
    end

    -- Returns the first score from this one on that nothing waiting has, so that positions stay exact. If it is taken, the
    -- next one is found by steps that first double and then halve.
    function shares.free_from(lane, score)
        local function is_full(n)
            return call('ZCOUNT', D.pending(lane), exact(score), exact(score + n * shares.UNIT)) > n
        end
        if not is_full(0) then return score end
        local full, free = 0, 1
        while is_full(free) do full, free = free, 2 * free end
        while free - full > 1 do
            local middle = math.floor((full + free) / 2)
            if is_full(middle) then full = middle else free = middle end
        end
        return score + free * shares.UNIT
    end
end
