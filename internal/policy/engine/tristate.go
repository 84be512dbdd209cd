package engine

// tristate is yes, no, or unknown which of the two.
type tristate uint8

const (
	no tristate = iota
	yes
	maybe
)

func certainly(is bool) tristate {
	if is {
		return yes
	}
	return no
}

func (t tristate) not() tristate {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return maybe
}

func (t tristate) and(other tristate) tristate {
	switch {
	case t == no || other == no:
		return no
	case t == yes && other == yes:
		return yes
	}
	return maybe
}
