package database

import "testing"

func TestPositionalParameters(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1":                       "SELECT 1",
		"SELECT $1, $2":                  "SELECT ?, ?",
		"a = $1 AND b = $1":              "a = $1 AND b = $1",
		"a = $2 AND b = $1":              "a = $2 AND b = $1",
		"a = $1$":                        "a = $1$",
		"a = $10":                        "a = $10",
		"$1$2$3$4$5$6$7$8$9$10 = $11":    "?????????? = ?",
		"$1 $2 $3 $4 $5 $6 $7 $8 $9 $1x": "$1 $2 $3 $4 $5 $6 $7 $8 $9 $1x",
	} {
		if got := positional(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
