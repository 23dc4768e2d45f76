-- One call of the library. All functions and tables are made once, when the server loads the library. Variables of a
-- single call are reset when a call begins, and not when it ends, so that a failed call leaves nothing to the next one.
local call -- redis.call, which exists only during a call
local KEYS
local forgettings = {}
local at_begin, begin
do
    local beginnings = {}

    function at_begin(set)
        beginnings[#beginnings + 1] = set
    end

    function begin(keys)
        call, KEYS = redis.call, keys
        for i = 1, #beginnings do beginnings[i]() end
    end
end

-- For caches of Redis data, which are also reset after a part of the call failed half-way.
local function at_begin_and_failure(set)
    at_begin(set)
    forgettings[#forgettings + 1] = set
end

-- Returns an empty table for this call; the old one if it is still empty, as most are.
local function emptied(made)
    if made and next(made) == nil then return made end
    return {}
end

local function lines_of(text)
    local lines = {}
    for line in string.gmatch(text, '[^\n]+') do lines[#lines + 1] = line end
    return lines
end
