package expression

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// kind is one of our object types. Its fields are known at compile time, so that a
// misspelled one is refused.
type kind struct {
	celType *types.Type
	fields  map[string]*types.FieldType
}

// field reads one member of a T. It is set, as in has(agent.name), if it is not the
// zero value of its type.
type field[T any] struct {
	name    string
	celType *types.Type
	get     func(T) ref.Val
}

// newKind describes objects whose Go value is a T.
func newKind[T any](name string, fields ...field[T]) *kind {
	k := &kind{celType: types.NewObjectType(name), fields: map[string]*types.FieldType{}}
	for _, f := range fields {
		k.fields[f.name] = &types.FieldType{
			Type: f.celType,
			IsSet: func(target any) bool {
				value, err := f.from(target)
				return err == nil && !isZero(value)
			},
			GetFrom: func(target any) (any, error) { return f.from(target) },
		}
	}
	return k
}

func (f field[T]) from(target any) (ref.Val, error) {
	value, ok := target.(T)
	if !ok {
		return nil, fmt.Errorf("there is no %s here", f.name)
	}
	return f.get(value), nil
}

func isZero(value ref.Val) bool {
	switch v := value.(type) {
	case types.String:
		return v == ""
	case types.Int:
		return v == 0
	case types.Double:
		return v == 0
	case types.Bool:
		return !bool(v)
	}
	return false
}

type object struct {
	kind  *kind
	value any
}

// ConvertToNative fails: nothing outside an expression uses our objects.
func (o object) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s has no other form", o.kind.celType.TypeName())
}

// ConvertToType supports only type(x).
func (o object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return o.kind.celType
	}
	return types.NewErr("%s is not a %s", o.kind.celType.TypeName(), t.TypeName())
}

// Equal compares the values, which are pointers or comparable structs.
func (o object) Equal(other ref.Val) ref.Val {
	same, ok := other.(object)
	if !ok || same.kind != o.kind {
		return types.False
	}
	return types.Bool(o.value == same.value)
}

// Type is the kind's.
func (o object) Type() ref.Type { return o.kind.celType }

// Value is the Go value.
func (o object) Value() any { return o.value }

// provider adds our kinds to the types of CEL. Expressions cannot make our objects.
type provider struct {
	types.Provider
	kinds map[string]*kind
}

func newProvider(standard types.Provider) provider {
	p := provider{Provider: standard, kinds: map[string]*kind{}}
	for _, k := range []*kind{
		agentKind, userKind, orgKind, sessionKind, intentKind, shellKind, pathKind, urlKind, ipKind,
	} {
		p.kinds[k.celType.TypeName()] = k
	}
	return p
}

// FindStructType finds a type by its name.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if k, ok := p.kinds[name]; ok {
		return types.NewTypeTypeWithParam(k.celType), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames lists a kind's fields.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if k, ok := p.kinds[name]; ok {
		return slices.Sorted(maps.Keys(k.fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType finds a field of a kind.
func (p provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	if k, ok := p.kinds[name]; ok {
		f, ok := k.fields[fieldName]
		return f, ok
	}
	return p.Provider.FindStructFieldType(name, fieldName)
}

// NewValue fails for our kinds.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.kinds[name]; ok {
		return types.NewErr("%s cannot be made in an expression", name)
	}
	return p.Provider.NewValue(name, fields)
}
