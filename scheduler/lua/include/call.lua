-- One call of the library. All its functions and tables are made once, when the server loads it; what belongs to one
-- call only is set anew when that begins, and not when it ends, so that one that failed leaves nothing to the next.
local call -- redis.call, which is there only during a call
local KEYS
local beginnings, forgettings = {}, {}

local function at_begin(set)
    beginnings[#beginnings + 1] = set
end

-- What was read of the data: it is read anew where something failed half-way, too.
local function at_begin_and_failure(set)
    at_begin(set)
    forgettings[#forgettings + 1] = set
end

-- A table for this call: most of them stay empty, and an empty one need not be made again.
local function emptied(made)
    if made and next(made) == nil then return made end
    return {}
end

local function lines_of(text)
    local lines = {}
    for line in string.gmatch(text, '[^\n]+') do lines[#lines + 1] = line end
    return lines
end

local function begin(keys)
    call, KEYS = redis.call, keys
    for i = 1, #beginnings do beginnings[i]() end
end
