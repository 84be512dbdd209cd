package otlp

// The kinds of AnyValue that contain others.
const (
	arrayName = "arrayValue"
	mapName   = "kvlistValue"
)

// appendContainer writes an array or a map. If it is nested too deep, it sets bad and skips the container: the rest of
// the request must still be read.
func (d decoder) appendContainer(dst []byte, name string, depth int, bad *error) ([]byte, error) {
	if depth > maxDepth {
		*bad = errDepth
		return append(dst, "null"...), d.SkipValue()
	}
	begin, end, element := byte('['), byte(']'), d.appendElement
	if name == mapName {
		begin, end = '{', '}'
		seen := members{}
		element = func(dst []byte, depth int, bad *error) ([]byte, error) {
			return d.appendEntry(dst, seen, depth, bad)
		}
	}
	dst = append(dst, begin)
	err := d.object(func(name string) error {
		if name != "values" {
			return d.SkipValue()
		}
		return d.array(func() (err error) {
			dst, err = element(dst, depth, bad)
			return err
		})
	})
	return append(dst, end), err
}

func (d decoder) appendElement(dst []byte, depth int, bad *error) ([]byte, error) {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	return d.appendAny(dst, depth, bad)
}

// appendEntry writes the next entry of a map, unless its key is there already.
func (d decoder) appendEntry(dst []byte, seen members, depth int, bad *error) ([]byte, error) {
	var key string
	var v value // null if the entry has none
	err := d.object(func(name string) (err error) {
		switch name {
		case "key":
			var text []byte
			text, err = d.text()
			key = string(text)
		case "value":
			v.kind = writtenValue
			v.text, err = d.appendAny(nil, depth, bad)
		default:
			err = d.SkipValue()
		}
		return err
	})
	switch {
	case err != nil || seen[key]:
		return dst, err
	case len(seen) >= maxAttributes:
		*bad = errAttributes
		return dst, nil
	}
	return seen.append(dst, key, v), nil
}

// appendAny writes an AnyValue inside of another.
func (d decoder) appendAny(dst []byte, depth int, bad *error) ([]byte, error) {
	if int64(len(dst))+d.storedBytes > d.MaxBytes {
		return dst, d.tooLarge()
	}
	start := len(dst)
	var v value
	err := d.object(func(name string) (err error) {
		if name == arrayName || name == mapName {
			v = value{}
			dst, err = d.appendContainer(dst[:start], name, depth+1, bad)
			return err
		}
		v, err = d.scalar(name, v)
		if v.kind != noValue {
			dst = dst[:start]
		}
		return err
	})
	if len(dst) == start {
		dst = v.appendTo(dst)
	}
	return dst, err
}
