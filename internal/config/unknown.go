package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"writ/internal/misspelling"
)

const ownPrefix = "WRIT_"

// serviceLink is a variable that Kubernetes puts into every pod for a service whose name begins with "writ"
// (WRIT_SERVICE_HOST, WRIT_PORT_8080_TCP_ADDR). The operator did not write it, so it is not a misspelled setting.
var serviceLink = regexp.MustCompile(`^WRIT(_[A-Z0-9]+)*_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// serviceLinkURL is the value of the one such variable whose name could be a mistake: WRIT_PORT.
var serviceLinkURL = regexp.MustCompile(`^(tcp|udp|sctp)://`)

// clientVariables are read by the command writ and its hooks, and by the compose file. They may be set for a server
// that was started in the same shell.
var clientVariables = map[string]bool{
	"WRIT_URL": true, "WRIT_API_KEY": true, "WRIT_ACCESS_TOKEN": true,
	"WRIT_CODE": true, "WRIT_ENFORCE": true, "WRIT_VERSION": true,
}

// refuseUnknown reports variables with our prefix that are not settings.
func (r *reader) refuseUnknown() {
	var names []string
	for _, v := range Variables() {
		names = append(names, v.Name)
		if v.File {
			names = append(names, v.Name+fileSuffix)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if !strings.HasPrefix(name, ownPrefix) || slices.Contains(names, name) || clientVariables[name] ||
			isServiceLink(name, r.values[name]) {
			continue
		}
		r.report(name, "is not a setting; the nearest name is "+nearest(name, names))
	}
}

func isServiceLink(name, value string) bool {
	if strings.HasSuffix(name, "_PORT") && serviceLinkURL.MatchString(value) {
		return true
	}
	return serviceLink.MatchString(name)
}

// nearest compares without our prefix, because some settings have none: WRIT_PORT probably means PORT.
func nearest(name string, names []string) string {
	from := func(other string) int {
		return misspelling.Distance(strings.TrimPrefix(name, ownPrefix), strings.TrimPrefix(other, ownPrefix))
	}
	return slices.MinFunc(names, func(a, b string) int { return from(a) - from(b) })
}
