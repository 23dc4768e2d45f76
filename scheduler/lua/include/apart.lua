-- Independent parts of a call. If one fails on damaged data (a key of a wrong type), its writes so far stay, and the
-- other parts take effect. Only for calls that use `keep_apart`, since they must report the failures.
local keep_apart, apart
local failed = {}
do
    local list -- of {name, error}; nil: any failure fails the whole call
    at_begin(function() list = nil end)

    function keep_apart()
        list = {}
    end

    -- Returns the results of `run` for this name; nil if it failed.
    function apart(run, name, ...)
        if not list then return run(name, ...) end
        local is_done, result, second = pcall(run, name, ...)
        if is_done then return result, second end
        list[#list + 1] = {name, type(result) == 'table' and result.err or tostring(result)}
        for i = 1, #forgettings do forgettings[i]() end
    end

    function failed.has(name)
        for _, each in ipairs(list or {}) do
            if each[1] == name then return true end
        end
        return false
    end

    -- Removes the last failure and returns its error.
    function failed.take()
        return table.remove(list)[2]
    end

    -- Returns the names that failed, each followed by its error; nil if nothing failed.
    function failed.all()
        if #list == 0 then return nil end
        local flat = {}
        for _, each in ipairs(list) do flat[#flat + 1], flat[#flat + 2] = each[1], each[2] end
        return flat
    end
end
