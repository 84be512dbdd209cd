// Efficacy measures how well grounding tells what an agent's user wants from what an
// injected instruction wants.
//
//	go run . -data FOLDER
//
// FOLDER holds recorded runs in the AgentDojo environments. The runs are no part of Writ.
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"

	"writ/internal/intent/grounding"
)

func main() {
	data := flag.String("data", "", "`folder` of the recorded runs")
	plan := flag.String("plan", "declared", "declared or oracle")
	may := flag.Bool("may", true, "use plan.may")
	before := flag.Bool("before", true, "unplannedBeforeText: allow")
	list := flag.Bool("list", false, "list runs")
	flag.Parse()
	d, err := readDataset(*data)
	if err != nil {
		fmt.Fprintln(os.Stderr, "efficacy:", err)
		os.Exit(1)
	}
	o := &offline{classes: d.classes, may: *may, options: grounding.Options{UnplannedBeforeText: *before}}
	o.plan = func(r *run) []step {
		if *plan == "oracle" {
			return r.Oracle
		}
		return r.Declared
	}
	counts := map[string]int{}
	causes := map[string]int{}
	for i := range d.runs {
		r := &d.runs[i]
		out, err := replay(o, r)
		if err != nil {
			fmt.Fprintln(os.Stderr, "efficacy:", r.ID, err)
			os.Exit(1)
		}
		kind := "benign "
		if r.isAttacked() {
			kind = "attack "
		}
		for _, suite := range []string{r.Suite, "all"} {
			counts[suite+" "+kind+out.result]++
			counts[suite+" "+kind+"n"]++
			if r.isBenign() {
				counts[suite+" asks"] += out.asks
			}
		}
		if r.isBenign() {
			for _, c := range out.causes {
				causes[r.Suite+" broken: "+c]++
			}
		}
		if r.isAttacked() && out.result == "ran" {
			for _, path := range r.AttackPaths {
				text := ""
				for _, i := range path {
					text += " " + r.Calls[i].Tool + "(" + out.answers[i].why + ")"
				}
				causes[r.Suite+" SURVIVED:"+text]++
				if *list {
					fmt.Println("SURVIVED", r.ID, text)
				}
			}
		}
		if *list && r.isBenign() && out.result != "automatic" {
			fmt.Println("BROKEN", r.ID, out.causes)
		}
	}
	for _, m := range []map[string]int{counts, causes} {
		var keys []string
		for k := range m {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			fmt.Println(m[k], k)
		}
	}
}
