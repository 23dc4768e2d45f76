-- The kinds of functions in the library. Those that write end by settling the lanes they touched, and the clocks. At
-- maxmemory a server refuses functions without the flag allow-oom. That is right for those that accept executions;
-- those that admit, renew or end must run: they keep leases alive and free memory, or a full server could not drain.
local transition, once, once_if_memory, led, view
do
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
        carry_on()
        serve()
        keep_counts()
        clock.keep()
        keep_lease_clock()
        settle_lanes()
        keep_raised()
        later.keep()
        return reply
    end

    -- For functions that may be repeated without harm.
    function transition(name, run)
        register(name, {'allow-oom'}, function(...) return settled(run(...)) end)
    end

    -- For functions with a request token: a repeated call gets the same answer, and has no second effect. `complete` adds
    -- data to an answer, fresh or repeated, that is not kept with it.
    function once(name, run, complete, accepts)
        register(name, accepts and {} or {'allow-oom'}, function(caller, number, ...)
            local reply, is_stale_call = said(caller, number, accepts)
            if is_stale_call then return {'STALE_CALL'} end
            if not reply then reply = answer(caller, number, settled(run(...))) end
            return complete and complete(reply) or reply
        end)
    end

    function once_if_memory(name, run)
        once(name, run, nil, true)
    end

    -- For functions that only the leader of this epoch may call, or, with '', anyone; they may be repeated without harm.
    function led(name, run)
        transition(name, function(epoch, ...)
            if is_fenced(epoch) then return 'STALE_EPOCH' end
            return run(...)
        end)
    end

    function view(name, run)
        register(name, {'no-writes'}, run)
    end
end
