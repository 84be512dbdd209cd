package layout_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxPage is the length of a page above which nobody finds anything in it.
const maxPage = 250

// pages are the texts for people, by their path from here.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	read := func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.ToSlash(file)] = string(text)
	}
	err := filepath.WalkDir("docs", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(file, ".md") {
			read(file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} {
		read(file)
	}
	return found
}

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	code     = regexp.MustCompile("(?s)```.*?\n```|`[^`\n]*`")
	notKept  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// linksOf are the pages and other files of ours that a page leads to, with their anchors.
func linksOf(page, text string) (links [][2]string) {
	for _, match := range pageLink.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		target, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, ":") {
			continue
		}
		if target = path.Join(path.Dir(page), target); strings.HasPrefix(match[1], "#") {
			target = page
		}
		links = append(links, [2]string{target, anchor})
	}
	return links
}

// anchors are those of a page's headings, as GitHub makes them.
func anchors(text string) (names []string) {
	fenced := regexp.MustCompile("(?s)```.*?\n```").ReplaceAllString(text, "")
	for _, match := range heading.FindAllStringSubmatch(fenced, -1) {
		kept := notKept.ReplaceAllString(strings.ToLower(match[1]), "")
		names = append(names, strings.ReplaceAll(kept, " ", "-"))
	}
	return names
}

// TestLinksOfPages: every link leads to a file, and to a heading in it.
func TestLinksOfPages(t *testing.T) {
	t.Parallel()
	all := pages(t)
	count := 0
	for page, text := range all {
		for _, link := range linksOf(page, text) {
			count++
			if _, err := os.Stat(link[0]); err != nil {
				t.Errorf("%s leads to %s, which is not there", page, link[0])
			}
			if target, ok := all[link[0]]; ok && link[1] != "" && !slices.Contains(anchors(target), link[1]) {
				t.Errorf("%s leads to %s#%s, and that page has no such heading", page, link[0], link[1])
			}
		}
	}
	if count < 100 {
		t.Errorf("%d links: are the pages read as they are written?", count)
	}
}

// TestMapOfPackages: ARCHITECTURE.md says of every package what it is for, and of none that is gone.
func TestMapOfPackages(t *testing.T) {
	t.Parallel()
	known := []string{"bench", "release", "release/bundle", "deploy"} // modules of their own, without a row
	for _, row := range table {
		known = append(known, row.Package)
	}
	cell := regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| .+ \\|$")
	name := regexp.MustCompile("`([^`]+)`")
	listed := map[string]bool{}
	for _, row := range cell.FindAllStringSubmatch(pages(t)["ARCHITECTURE.md"], -1) {
		for _, match := range name.FindAllStringSubmatch(row[1], -1) {
			// A name may leave out the folders that the rows around it have.
			at := slices.IndexFunc(known, func(path string) bool {
				return path == match[1] || strings.HasSuffix(path, "/"+match[1])
			})
			if at < 0 {
				t.Errorf("ARCHITECTURE.md lists %s, which is not there", match[1])
				continue
			}
			listed[known[at]] = true
		}
	}
	for _, path := range known {
		if !listed[path] {
			t.Errorf("ARCHITECTURE.md does not say what %s is for", path)
		}
	}
}

// TestMapOfPages: docs/README.md leads to every page, and none is too long.
func TestMapOfPages(t *testing.T) {
	t.Parallel()
	all := pages(t)
	reached, next := map[string]bool{}, []string{"docs/README.md"}
	direct := map[string]bool{}
	for _, link := range linksOf("docs/README.md", all["docs/README.md"]) {
		direct[link[0]] = true
	}
	for len(next) > 0 {
		page := next[0]
		if next = next[1:]; reached[page] {
			continue
		}
		reached[page] = true
		for _, link := range linksOf(page, all[page]) {
			if _, ok := all[link[0]]; ok {
				next = append(next, link[0])
			}
		}
	}
	for page, text := range all {
		if !strings.HasPrefix(page, "docs/") {
			continue
		}
		if lines := strings.Count(text, "\n"); lines > maxPage {
			t.Errorf("%s has %d lines, and may have %d: split it", page, lines, maxPage)
		}
		switch {
		case page == "docs/README.md", path.Dir(page) == "docs" && direct[page]:
		case path.Dir(page) == "docs":
			t.Errorf("the map, docs/README.md, does not lead to %s", page)
		case !reached[page]:
			t.Errorf("no page that docs/README.md leads to leads to %s", page)
		}
	}
}
