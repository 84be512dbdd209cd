package config

import (
	"maps"
	"slices"
	"strings"

	"writ/internal/misspelling"
)

// sharedFamilies are the beginnings of our names without a prefix that other programs use too.
var sharedFamilies = []string{"DATABASE_", "STRIPE_"}

// foreignNames are as close to ours as a slip, and other programs read them.
var foreignNames = map[string]bool{"DATABASE_URI": true}

// likeness is how much the name of a variable looks like a misspelled setting.
type likeness int

const (
	unlike     likeness = iota
	doubtful            // it may well be another program's
	misspelled          // nobody else would call a variable so
)

// refuseLookalikes reports variables without our prefix that are misspelled settings, where the setting itself is not
// set. What may be another program's variable is a doubt, and stops nothing.
func (r *reader) refuseLookalikes() {
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if strings.HasPrefix(name, ownPrefix) || r.isSetting(name) {
			continue
		}
		setting, how := r.lookalike(name)
		problem := Problem{Variable: name, Message: "is not a setting; the nearest name is " + setting}
		switch how {
		case misspelled:
			r.problems = append(r.problems, problem)
		case doubtful:
			problem.Message += ", which is not set"
			r.doubts = append(r.doubts, problem)
		}
	}
}

func (r *reader) isSetting(name string) bool {
	if _, known := r.known[name]; known {
		return true
	}
	base, isFile := strings.CutSuffix(name, fileSuffix)
	return isFile && r.known[base].File
}

// lookalike is the setting that a name looks like most. PORT is too short to be told from other words.
func (r *reader) lookalike(name string) (setting string, how likeness) {
	for _, v := range Variables() {
		if strings.HasPrefix(v.Name, ownPrefix) || v.Name == "PORT" || r.isSet(v.Name) {
			continue
		}
		forms := []string{v.Name}
		if v.File {
			forms = append(forms, v.Name+fileSuffix)
		}
		for _, form := range forms {
			if found := compare(name, form); found > how {
				setting, how = form, found
			}
		}
	}
	return setting, how
}

// compare says how much a name looks like a setting.
func compare(name, setting string) likeness {
	isOf := func(family string) bool { return strings.HasPrefix(setting, family) }
	shared := slices.ContainsFunc(sharedFamilies, isOf)
	appended := strings.HasPrefix(name, setting)
	switch {
	case isSlip(name, setting) && foreignNames[name]:
		return doubtful
	case appended && !shared:
		return misspelled
	case appended:
		return doubtful
	case isSlip(name, setting):
		return misspelled
	case !strings.HasSuffix(setting, fileSuffix) && hasWordsLeftOut(name, setting):
		return doubtful
	}
	return unlike
}

// isSlip reports whether a few letters make a name the other: a word break, a letter, two letters that changed places,
// or two letters of a long name.
func isSlip(name, setting string) bool {
	a, b := strings.ReplaceAll(name, "_", ""), strings.ReplaceAll(setting, "_", "")
	const long = 20
	switch misspelling.Distance(a, b) {
	case 0, 1:
		return true
	case 2:
		return len(b) >= long || sortedLetters(a) == sortedLetters(b)
	}
	return false
}

func sortedLetters(text string) string {
	letters := []byte(text)
	slices.Sort(letters)
	return string(letters)
}

// hasWordsLeftOut reports whether a name is the beginning of a setting and some of its other words in their order, such
// as STRIPE_SECRET of STRIPE_SECRET_KEY.
func hasWordsLeftOut(name, setting string) bool {
	words, all := strings.Split(name, "_"), strings.Split(setting, "_")
	if len(words) < 2 || words[0] != all[0] {
		return false
	}
	for _, word := range words {
		i := slices.Index(all, word)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}
