-- Independent parts of a call. If one fails on damaged data (a key of a wrong type), its writes so far stay, and the
-- other parts take effect. Only for calls that use `keep_apart`, since they must report the failures.
local keep_apart, apart, has_failed, take_failure, failures
do
    local failed -- a list of {name, error}; nil: any failure fails the whole call
    at_begin(function() failed = nil end)

    function keep_apart()
        failed = {}
    end

    -- Returns the results of `run` for this name; nil if it failed.
    function apart(run, name, ...)
        if not failed then return run(name, ...) end
        local is_done, result, second = pcall(run, name, ...)
        if is_done then return result, second end
        failed[#failed + 1] = {name, type(result) == 'table' and result.err or tostring(result)}
        for i = 1, #forgettings do forgettings[i]() end
    end

    function has_failed(name)
        for _, each in ipairs(failed or {}) do
            if each[1] == name then return true end
        end
        return false
    end

    -- Removes the last failure and returns its error.
    function take_failure()
        return table.remove(failed)[2]
    end

    -- Returns the names that failed, each followed by its error; nil if nothing failed.
    function failures()
        if #failed == 0 then return nil end
        local flat = {}
        for _, each in ipairs(failed) do flat[#flat + 1], flat[#flat + 2] = each[1], each[2] end
        return flat
    end
end
