package otlp

import (
	"cmp"
	"encoding/base64"
	"errors"
	"math"
	"strconv"
)

// attributes reads a list of KeyValues to its end. bad says why they cannot be stored.
func (d decoder) attributes(list []attribute) (_ []attribute, bad, err error) {
	err = d.array(func() error {
		a, err := d.pair(&bad)
		if err != nil {
			return err
		}
		var refused error
		list, refused = add(list, a)
		bad = cmp.Or(bad, refused)
		return d.checkScratch()
	})
	return list, bad, err
}

func (d decoder) pair(bad *error) (a attribute, err error) {
	err = d.object(func(name string) (err error) {
		switch name {
		case "key":
			var key []byte
			key, err = d.text()
			a.key = d.name(key)
		case "value":
			a.value, err = d.value(bad)
		default:
			err = d.SkipValue()
		}
		return err
	})
	return a, err
}

func (d decoder) value(bad *error) (v value, err error) {
	err = d.object(func(name string) (err error) {
		if name != arrayName && name != mapName {
			v, err = d.scalar(name, v)
			return err
		}
		text, err := d.appendContainer(nil, name, 1, bad)
		v = value{kind: writtenValue, text: text}
		return err
	})
	return v, err
}

// scalar reads a kind of AnyValue that contains no others. For any other name it returns before.
func (d decoder) scalar(name string, before value) (v value, err error) {
	switch name {
	case "stringValue":
		v.kind = textValue
		v.text, err = d.text()
	case "boolValue":
		v.kind = boolValue
		switch d.PeekKind() {
		case 't':
			v.whole = 1
		case 'f', 'n':
		default:
			return v, d.wrongType()
		}
		err = d.SkipValue()
	case "intValue":
		v.kind = wholeValue
		v.whole, err = parsed(d, parseInt)
	case "doubleValue":
		v.kind = floatValue
		v.float, err = d.float()
	case "bytesValue":
		v.kind = writtenValue
		v.text, err = d.bytes()
	default:
		return before, d.SkipValue()
	}
	return v, err
}

// float reads a number. Numbers that JSON does not have are texts.
func (d decoder) float() (float64, error) {
	return parsed(d, func(text string) (float64, error) {
		f, err := strconv.ParseFloat(text, 64)
		if math.IsInf(f, 0) {
			err = nil // out of range
		}
		return f, err
	})
}

func (d decoder) bytes() ([]byte, error) {
	text, err := d.text()
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, errors.Join(errNotOTLP, err)
	}
	return appendBytes(nil, data), nil
}
