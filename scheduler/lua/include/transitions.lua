-- The kinds of functions that callers find in the library. Each ends by settling the lanes that it touched, and the
-- clocks. At maxmemory a server refuses what is not allowed to need memory: that is right for what accepts; what
-- admits, renews or ends must pass, for it keeps leases alive and gives memory back, or a full server could not drain.
local function register(name, flags, run)
    redis.register_function({
        function_name = name .. '_' .. DIGEST,
        flags = flags,
        callback = function(keys, arguments)
            begin(keys)
            return refused_format() or run(unpack(arguments))
        end,
    })
end

local function settled(reply)
    mark_settings()
    keep_counts()
    keep_clock()
    keep_lease_clock()
    carry_on()
    settle_lanes()
    keep_raised()
    return reply
end

-- Repeating it does no harm.
local function transition(name, run)
    register(name, {'allow-oom'}, function(...) return settled(run(...)) end)
end

-- With a request token: made again, it answers what it answered, and has no second effect. `complete` adds to an answer,
-- fresh or repeated, what is not kept with it.
local function once(name, run, complete, accepts)
    register(name, accepts and {} or {'allow-oom'}, function(caller, number, ...)
        local reply, is_stale_call = said(caller, number, accepts)
        if is_stale_call then return {'STALE_CALL'} end
        if not reply then reply = answer(caller, number, settled(run(...))) end
        return complete and complete(reply) or reply
    end)
end

local function once_if_memory(name, run)
    once(name, run, nil, true)
end

-- Only for the leader of this epoch, or, with '', in a worker's own round. Repeating it does no harm.
local function led(name, run)
    transition(name, function(epoch, ...)
        if is_fenced(epoch) then return 'STALE_EPOCH' end
        return run(...)
    end)
end

local function view(name, run)
    register(name, {'no-writes'}, run)
end
