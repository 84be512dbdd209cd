package otlp

import (
	"math"
)

// The kinds of AnyValue that contain others.
const (
	arrayField = 5
	mapField   = 6
)

// readValue reads an AnyValue. If it has several kinds of value, the last counts.
func (r *reader) readValue(message []byte) (v value, err error) {
	err = eachField(message, func(f field) (err error) {
		if f.number != arrayField && f.number != mapField {
			v = r.readScalar(f, v)
			return nil
		}
		start := len(r.arena)
		r.arena, err = r.appendContainer(r.arena, f, 1)
		v = value{kind: writtenValue, text: r.arena[start:]}
		return err
	})
	return v, err
}

// readScalar reads a kind of AnyValue that contains no others. For any other field it returns before.
func (r *reader) readScalar(f field, before value) value {
	switch f.number {
	case 1:
		return value{kind: textValue, text: f.bytes}
	case 2:
		return value{kind: boolValue, whole: int64(min(f.varint, 1))}
	case 3:
		return value{kind: wholeValue, whole: int64(f.varint)}
	case 4:
		return value{kind: floatValue, float: math.Float64frombits(f.fixed)}
	case 7:
		return value{kind: writtenValue, text: appendBytes(nil, f.bytes)}
	}
	return before
}

func (r *reader) appendContainer(dst []byte, f field, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, errDepth
	}
	if f.number == mapField {
		return r.appendMap(dst, f.bytes, depth)
	}
	dst = append(dst, '[')
	first := true
	err := messages(f.bytes, 1, func(element []byte) (err error) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst, err = r.appendAny(dst, element, depth)
		return err
	})
	return append(dst, ']'), err
}

// appendMap writes a KeyValueList. If a key is repeated, the first stays.
func (r *reader) appendMap(dst, list []byte, depth int) ([]byte, error) {
	dst = append(dst, '{')
	seen := members{}
	err := messages(list, 1, func(pair []byte) error {
		if len(seen) >= maxAttributes {
			return errAttributes
		}
		var key, message []byte
		err := eachField(pair, func(f field) error {
			switch f.number {
			case 1:
				key = f.bytes
			case 2:
				message = f.bytes
			}
			return nil
		})
		if err != nil || seen[string(key)] {
			return err
		}
		if len(seen) > 0 {
			dst = append(dst, ',')
		}
		seen[string(key)] = true
		dst, err = r.appendAny(append(appendText(dst, key), ':'), message, depth)
		return err
	})
	return append(dst, '}'), err
}

// appendAny writes an AnyValue inside of another as JSON.
func (r *reader) appendAny(dst, message []byte, depth int) ([]byte, error) {
	if int64(len(dst))+r.storedBytes > r.MaxBytes {
		return dst, r.tooLarge()
	}
	start := len(dst)
	var v value
	err := eachField(message, func(f field) (err error) {
		if f.number == arrayField || f.number == mapField {
			v = value{}
			dst, err = r.appendContainer(dst[:start], f, depth+1)
			return err
		}
		if scalar := r.readScalar(f, v); scalar.kind != noValue {
			v, dst = scalar, dst[:start]
		}
		return nil
	})
	if len(dst) == start {
		dst = v.appendTo(dst)
	}
	return dst, err
}
