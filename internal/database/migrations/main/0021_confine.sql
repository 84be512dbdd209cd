-- What an allowed call had to be confined to, as JSON. '': to nothing
ALTER TABLE awaited_outcome ADD COLUMN confine TEXT NOT NULL DEFAULT '';

-- What the client says that it confined the call to, as JSON. '': it does not say
ALTER TABLE execution ADD COLUMN confined TEXT NOT NULL DEFAULT '';
