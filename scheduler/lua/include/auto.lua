-- Limits that adjust themselves within bounds, `auto(least,most)`: whose they are, and what is known of each. The limit in
-- force is a number among all others, so admission knows nothing of this. `auto_limits` has the bounds, the number and the
-- figures of the present window; the gates' names are a field of the settings, which every call reads anyway.
local auto = {}
do
    local FIELDS = {
        'least', 'most', 'now', 'is_declared', -- 1: by a lane; else by an operator
        'lowered_at', 'began_at', -- when it was lowered last, and when the window began
        'peak', 'is_full', -- in the window: how many held it at most, and 1 if others waited meanwhile
        'ends', 'errors', 'timed', 'run_times', -- how many ended and failed; of how many the run time is summed, as logarithms
        'usual', 'slow', -- run times as logarithms, 0 for none: the usual one, and the one for which it was lowered
    }
    local names = {} -- gate → true
    local read_from = false -- the text that `names` was read from

    local function read_names()
        names, read_from = {}, false
        for _, gate in ipairs(call('HKEYS', K.auto_limits)) do names[gate] = true end
    end

    at_begin(function()
        if not format then return read_names() end
        if overrides.auto == read_from then return end
        names, read_from = {}, overrides.auto
        for _, gate in ipairs(lines_of(read_from or '')) do names[gate] = true end
    end)

    function auto.exist() return next(names) ~= nil end
    function auto.has(gate) return names[gate] end

    function auto.gates()
        local found = {}
        for gate in pairs(names) do found[#found + 1] = gate end
        return found
    end

    -- To be called when their gates changed, and if the settings were lost.
    function auto.mark()
        read_names()
        local lines = auto.gates()
        for i, gate in ipairs(lines) do lines[i] = gate .. '\n' end
        keep_text('auto', lines)
    end

    -- Returns the bounds that a text gives: `auto(2,50)`, `auto(2,50) 12` to begin with 12, or a number, which is both.
    function auto.read(text)
        local limit = tonumber(text)
        if limit then return {least = limit, most = limit} end
        local least, most, start = string.match(text, '^auto%((%d+),(%d+)%) ?(%d*)$')
        return {least = tonumber(least), most = tonumber(most), start = tonumber(start), adjusts = true}
    end

    -- Returns the bounds that let less through; the latter if there is only one.
    function auto.lowest(known, other)
        if not known or other.most < known.most then return other end
        return other.most == known.most and other.least < known.least and other or known
    end

    function auto.within(bounds, limit)
        return math.max(bounds.least, math.min(bounds.most, limit))
    end

    -- Returns what is known of a gate; nil if nothing is, or it is damaged.
    function auto.of(gate)
        local text, found, i = names[gate] and call('HGET', K.auto_limits, gate) or '', {}, 0
        for value in string.gmatch(text, '%S+') do
            i = i + 1
            found[FIELDS[i] or ''] = tonumber(value)
        end
        return i == #FIELDS and found.slow and found or nil
    end

    function auto.keep(gate, found)
        local values = {}
        for i, name in ipairs(FIELDS) do values[i] = string.format('%.17g', found[name]) end
        call('HSET', K.auto_limits, gate, table.concat(values, ' '))
    end

    -- Returns the limit that these declared bounds give a gate now.
    function auto.declared_now(gate, bounds)
        local found = auto.of(gate)
        return auto.within(bounds, found and found.is_declared == 1 and found.now or bounds.least)
    end

    function auto.text(found)
        return string.format('auto(%d,%d), now %d', found.least, found.most, found.now) .. (found.is_declared == 1 and ', declared' or '')
    end
end
