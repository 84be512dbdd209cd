package telemetry

import (
	"fmt"
	"strings"
)

// Classes of cost, as the index trace_by_cost has them: below a tenth of a cent, and then each four times the one
// before.
const (
	firstCost   = 1_000_000 // billionths of a dollar
	costClasses = 11
)

// costClass is the expression of the index, word for word.
var costClass = func() string {
	var b strings.Builder
	b.WriteString("(CASE")
	for class := range costClasses - 1 {
		fmt.Fprintf(&b, " WHEN cost_nanos < %d THEN %d", firstCost<<(2*class), class)
	}
	fmt.Fprintf(&b, " ELSE %d END)", costClasses-1)
	return b.String()
}()

// costChoices are the conditions, of which every trace that costs at least so much meets exactly one. They name the
// condition of the index too: a database cannot see that it follows.
func costChoices(least int64) (conditions []string) {
	class := 0
	for class < costClasses-1 && least >= firstCost<<(2*class) {
		class++
	}
	for ; class < costClasses; class++ {
		conditions = append(conditions, fmt.Sprintf("cost_nanos > 0 AND %s = %d", costClass, class))
	}
	return conditions
}
