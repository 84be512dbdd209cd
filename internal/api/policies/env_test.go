package policies_test

// m is a JSON object.
type m = map[string]any

// second is the error of a call whose result does not matter.
func second[T any](_ T, err error) error { return err }
