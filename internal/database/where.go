package database

import (
	"strconv"
	"strings"
)

// Where collects the conditions of a query and their arguments.
type Where struct {
	conditions []string
	Args       []any
}

// And adds a condition, in which each ? stands for the next argument.
func (w *Where) And(condition string, args ...any) {
	for _, arg := range args {
		condition = strings.Replace(condition, "?", w.Bind(arg), 1)
	}
	w.conditions = append(w.conditions, condition)
}

// Bind adds an argument of another clause and gives its placeholder.
func (w *Where) Bind(arg any) string {
	w.Args = append(w.Args, arg)
	return "$" + strconv.Itoa(len(w.Args))
}

// String is the clause. It is empty without conditions.
func (w *Where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ") + " "
}
