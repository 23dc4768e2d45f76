-- Pauses and limits of gates, read once a call. They change within a call only if the call itself changes them.
local any_paused -- whether anything is paused
local any_limited -- whether any gate has a limit of its own
local any_behind -- whether a flow ever stood behind a gate
local limits -- gate → its limit, false for none, once read

local function forget_limits()
    limits, by_kind = emptied(limits), emptied(by_kind)
end

at_begin(function()
    any_paused, any_limited = overrides.paused == '1', overrides.limited == '1'
    any_behind = overrides.behind == '1'
    if not format then
        any_paused, any_limited = call('EXISTS', K.paused) == 1, call('EXISTS', K.limits) == 1
        any_behind = call('EXISTS', K.behind) == 1
    end
    forget_limits()
end)

-- If the settings' hash did not exist, or was lost, the first call that changes something writes the marks that calls
-- rely on.
local function mark_settings()
    if any_behind and not (any_limited or any_paused or next(defaults)) and call('EXISTS', K.behind) == 0 then
        any_behind = false
        keep_setting('behind')
    end
    if format then return end
    keep_setting('format', FORMAT)
    if any_paused then keep_setting('paused', 1) end
    if any_limited then keep_setting('limited', 1) end
    if any_behind then keep_setting('behind', 1) end
    rates.mark()
    auto.mark()
    if next(defaults) then keep_defaults() end
    for name in pairs(defaults) do
        if is_kind(name) then raise(name) end -- the score up to which its gates were checked is lost, too
    end
end

local function is_paused(name)
    return any_paused and call('HEXISTS', K.paused, name) == 1
end

local function read_limits(gates)
    local any_default = next(defaults) ~= nil
    if not any_limited and not any_default then return end
    for _, gate in ipairs(gates) do
        if limits[gate] == nil then
            local own = any_limited and call('HMGET', K.limits, unpack(gates)) or {}
            for i, each in ipairs(gates) do
                limits[each] = tonumber(own[i] or nil) or any_default and default_of(each)
            end
            return
        end
    end
end
