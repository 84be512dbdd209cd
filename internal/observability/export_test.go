package observability

// ArrivalQueries are those that find what arrived, by name.
func ArrivalQueries() map[string]string {
	return map[string]string{"settled": settledQuery}
}
