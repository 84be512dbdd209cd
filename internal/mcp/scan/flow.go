package scan

import (
	"slices"
	"strings"

	"writ/internal/intent/grounding"
	"writ/internal/mcp/definition"
	"writ/internal/toolclass"
)

// Nouns of names that say whose data a tool reads.
var (
	untrustedNouns = toolclass.NewSet("web url urls page pages website websites webpage browser browse internet http html scrape crawl feed feeds rss news inbox email emails mail mails message messages comment comments issue issues ticket tickets review reviews tweet tweets post posts channel channels slack pull discussion discussions submission submissions forum reddit")
	privateNouns   = toolclass.NewSet("file files directory folder folders document documents doc docs drive database databases db sql table tables row rows record records customer customers contact contacts calendar event events note notes repository repo secret secrets vault password passwords wallet payroll salary patient patients employee employees email emails mail inbox message messages crm invoice invoices account accounts transactions transaction keychain memory history clipboard photos attachment attachments user users profile statement statements")
)

// legs are what a flow of private data out of an organization needs.
type legs struct{ untrusted, private, out []toolRef }

// toxicFlows reports servers that together let somebody who writes a text carry private data out.
func toxicFlows(c *collector, servers []*definition.Server) {
	var l legs
	for _, server := range servers {
		for i := range server.Tools {
			c.work++
			l.add(toolRef{server, i})
		}
	}
	if len(l.untrusted) == 0 || len(l.private) == 0 || len(l.out) == 0 {
		return
	}
	severity := Medium
	if len(servers) == 1 {
		severity = Low // the server's author knew; Medium is for what nobody put together on purpose
	}
	c.add(newFinding(finding{
		rule:     toxicFlow,
		severity: severity,
		server:   serversOf(l),
		place:    path{member("tools")},
		evidence: "untrusted input: " + shownTools(l.untrusted) + "; private data: " + shownTools(l.private) +
			"; way out: " + shownTools(l.out),
		fixed: allTools(l.untrusted) + "\x00" + allTools(l.private) + "\x00" + allTools(l.out),
	}, ""), "")
}

func (l *legs) add(ref toolRef) {
	name := ref.tool().Name
	words := toolclass.Words(name)
	class, effect := toolclass.Of(ref.server.Name, name), toolclass.Effect(ref.server.Name, name)
	reads := effect == grounding.Read || effect == ""
	if reads && untrustedNouns.HasAny(words) || untrustedFetch(words) {
		l.untrusted = append(l.untrusted, ref)
	}
	if effect == grounding.Read && privateNouns.HasAny(words) || class == toolclass.Secrets && reads {
		l.private = append(l.private, ref)
	}
	if class == toolclass.Send || effect == grounding.Execute || untrustedFetch(words) {
		l.out = append(l.out, ref)
	}
}

var fetchVerbs = toolclass.NewSet("fetch browse scrape crawl navigate curl")

// untrustedFetch reports whether a name says that the tool asks any host: what comes back is anybody's, and the address
// carries data out.
func untrustedFetch(words []string) bool {
	if len(words) == 1 && words[0] == "fetch" {
		return true
	}
	return fetchVerbs.HasAny(words) && toolclass.NewSet("url web page website webpage http site").HasAny(words)
}

// maxShownTools are the tools of a leg that evidence names.
const maxShownTools = 3

func shownTools(refs []toolRef) string {
	names := make([]string, 0, maxShownTools)
	for _, ref := range refs[:min(len(refs), maxShownTools)] {
		names = append(names, ref.shown())
	}
	if len(refs) > maxShownTools {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// allTools names every tool, so that a new one is a new finding.
func allTools(refs []toolRef) string {
	sorted := slices.SortedFunc(slices.Values(refs), byShown)
	names := make([]string, len(sorted))
	for i, ref := range sorted {
		names[i] = ref.shown()
	}
	return strings.Join(names, " ")
}

// serversOf are the servers of a flow.
func serversOf(l legs) string {
	var names []string
	for _, ref := range slices.Concat(l.untrusted, l.private, l.out) {
		names = append(names, ref.server.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
