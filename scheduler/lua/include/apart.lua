-- Parts of a call that stand for themselves: where one fails on damaged data (a key of a wrong type), what it wrote stays, as
-- of any script that fails, and the other parts take effect. Only in a call that has asked for it, since it must say what failed.
local keep_apart, apart, has_failed, take_failure, failures
do
    local failed -- {name, error} each; nil: whatever fails, the call does
    at_begin(function() failed = nil end)

    function keep_apart()
        failed = {}
    end

    -- What `run` returns for this name; nil if it failed.
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

    -- The error of what failed last, which is no longer one of the failures.
    function take_failure()
        return table.remove(failed)[2]
    end

    -- What failed, each followed by its error; nil if nothing did.
    function failures()
        if #failed == 0 then return nil end
        local flat = {}
        for _, each in ipairs(failed) do flat[#flat + 1], flat[#flat + 2] = each[1], each[2] end
        return flat
    end
end
