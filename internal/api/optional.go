package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Optional is a query parameter whose zero value is something else than none.
type Optional[T any] struct {
	Value T
	IsSet bool
}

// Schema is that of the value.
func (o Optional[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// Receiver is where huma puts the value.
func (o *Optional[T]) Receiver() reflect.Value { return reflect.ValueOf(&o.Value).Elem() }

// OnParamSet is how huma says whether it was sent.
func (o *Optional[T]) OnParamSet(isSet bool, _ any) { o.IsSet = isSet }
